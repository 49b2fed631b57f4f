"""Settings: defaults of options from files `cuesta.toml` and from variables of the environment.

From the strongest to the weakest: an option of the command line, a variable `CUESTA_...`, the file
of the project, that of the user, that of the site, the built-in default. `places` finds the files
by their names alone, `known` has the settings, `layers` reads files and decides which value wins.

A project file is data from strangers: `known` refuses whatever in it could name code, a host, or a
folder outside of the project. A file of the user or of the site that other accounts can write
counts as one. A command without any file and variable reads nothing and imports no TOML.
"""

from __future__ import annotations
