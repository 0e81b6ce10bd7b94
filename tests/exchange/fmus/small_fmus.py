"""FMUs for tests: the small one of small_fmu.c, and archives made of texts."""

import shutil
import subprocess
import zipfile
from pathlib import Path

from daedalus.exchange.fmu_import.archive import ENDINGS, own_platforms

HERE = Path(__file__).parent
SMALL = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="small" guid="{small}" numberOfEventIndicators="1">
<ModelExchange modelIdentifier="small"/>
<CoSimulation modelIdentifier="small" canHandleVariableCommunicationStepSize="true"/>
<UnitDefinitions><Unit name="m"/><Unit name="m/s"/></UnitDefinitions>
<DefaultExperiment stepSize="0.05"/>
<ModelVariables>
<ScalarVariable name="x" valueReference="0" causality="local" initial="exact">
<Real start="1" unit="m"/></ScalarVariable>
<ScalarVariable name="der(x)" valueReference="1" causality="local"><Real derivative="1" unit="m/s"/></ScalarVariable>
<ScalarVariable name="u" valueReference="2" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="3" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="k" valueReference="4" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
<ScalarVariable name="level" valueReference="5" causality="parameter" variability="tunable">
<Real start="0.5"/></ScalarVariable>
<ScalarVariable name="deed" valueReference="6" causality="parameter" variability="tunable">
<Real start="0"/></ScalarVariable>
<ScalarVariable name="count" valueReference="7" causality="output" variability="discrete"><Integer/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="4" dependencies="1 3"/><Unknown index="8" dependencies=""/></Outputs>
<Derivatives><Unknown index="2" dependencies="1 3"/></Derivatives></ModelStructure>
</fmiModelDescription>"""


def entry_of(version=2, identifier="small"):
    """Where an FMU keeps its library for this machine."""
    import sys

    return f"binaries/{own_platforms(version)[0]}/{identifier}{ENDINGS[sys.platform]}"


def small_library(folder):
    """The library of the small FMU."""
    path = Path(folder) / "small.so"
    if not path.exists():
        command = [shutil.which("cc"), "-shared", "-fPIC", "-O0", "-o", str(path), str(HERE / "small_fmu.c"), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    return path.read_bytes()


def written(path, files):
    """An archive of files by name: texts or bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def small_fmu(folder, text=SMALL):
    """The small FMU, with another description on request."""
    path = Path(folder) / "small.fmu"
    return written(path, {"modelDescription.xml": text, entry_of(): small_library(folder)})
