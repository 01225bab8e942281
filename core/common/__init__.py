"""What every part of the program uses: languages, progress, text, versions."""
