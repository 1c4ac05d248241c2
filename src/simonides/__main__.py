"""``python -m simonides``: the command line where its script is not on the path."""

from simonides.cli import main

if __name__ == "__main__":
    main()
