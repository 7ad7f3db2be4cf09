"""The review page: a team reads notes, corrects what the machine found, agrees, and trains the machine on it.

    marks       what a reader sees and does in one note: pure functions from marks to marks
    queue       which notes come next: doubtful ones, different ones, and always a random slice
    agreement   how well two readers agree, and what both may have missed
    store       the project: SQLite, or PostgreSQL by URL; each action one transaction
    learning    models trained on what was read, by `deident train` in a process of its own; compared before use
    keys        the keyboard; a key that would mean two things is refused
    app         the page and what it asks for
    page/       HTML, CSS and JavaScript, as they are served

A project holds notes with their identifiers: its file has mode 0600, and it is never sent anywhere.
"""
