"""What actions answer: never made, only declared, for schemas and documentation (`actions.schema`).

Contract tests hold every real result to them. A field without a default is always there, and is null where its type
says so; one with a default is there where it applies. They are apart from requests, which calls load.
"""
