"""Word lists: names, places, hospitals, professions, medicine; their origins stand in SOURCES.md."""
