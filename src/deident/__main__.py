from deident.cli import main

main()
