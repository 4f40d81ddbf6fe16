"""Found by Spark under this name: `format("penstock")` loads `DefaultSource` from here."""
