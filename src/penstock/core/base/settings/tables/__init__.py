"""The declarations: one text table per area, read once at import.

A setting is two lines, `name | kind | default | allowed values | importance, and how it may change`, then one indented
sentence. `null` is no value, `required` no default; `hidden` is listed only when set. What Penstock does with each
setting is not said here but in `standings`.
"""
