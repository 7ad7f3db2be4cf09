"""The HTTP service: the pipeline behind a door that keeps, logs and echoes no text.

    access     API tokens with roles, stored hashed; how many requests each may make
    metrics    counters that all workers share, as Prometheus text
    engine     bytes of a format in, bytes of a format out; the pipelines by policy
    app        the routes
    run        sockets, TLS, workers, shutdown
    mllp       HL7 messages by MLLP: scrubbed, sent on, acknowledged

A request's text lives in memory while it is worked on. It is in no log line, no metric and no error body: errors name
kinds, lines and offsets. What is refused is refused whole; nothing answers with the text it was given.
"""
