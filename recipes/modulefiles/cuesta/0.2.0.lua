-- Lmod: add the folder above `cuesta` to MODULEPATH, and set `prefix` to the place of Cuesta:
--     python3 -m venv PREFIX/env && PREFIX/env/bin/pip install RELEASE/cuesta-*.whl
--     mkdir PREFIX/bin && ln -s ../env/bin/cuesta PREFIX/bin/
-- PREFIX/bin has the command alone, so that the environment's Python hides no other.
local prefix = os.getenv("CUESTA_PREFIX") or "/opt/cuesta/0.2.0"

help([[Cuesta: data-intensive science at hardware speed, verified and measured.
Start with: cuesta doctor]])
whatis("Name: Cuesta")
whatis("Version: 0.2.0")
whatis("Category: bioinformatics, data analysis")
conflict("cuesta")

prepend_path("PATH", pathJoin(prefix, "bin"))
-- Settings of the site, where there are any.
local settings = pathJoin(prefix, "etc", "cuesta.toml")
if isFile(settings) then
    setenv("CUESTA_SITE_CONFIG", settings)
end
