"""Nothing in the package turns data into code: only files that the user trusts go through CasADi's reader."""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "daedalus"

FORBIDDEN = {
    "deserialize",
    "eval",
    "exec",
    "loads",
    "load_module",
    "Unpickler",
    "StringDeserializer",
    "FileDeserializer",
}
# JSON is data. Workers of a Dask cluster run whatever their client sends them, by Dask's own pickles.
ALLOWED = {
    ("model/system/plain_record.py", "loads"),
    # JSON between an FMU's process and ours.
    ("exchange/fmu_import/fmu_link.py", "loads"),
    ("exchange/fmu_import/fmu_process.py", "loads"),
    ("ensembles/cluster.py", "loads"),
    ("ensembles/further_names.py", "loads"),
    ("ensembles/saved_ensemble.py", "loads"),
}
PICKLES = {"pickle", "marshal", "shelve", "dill"}
# Only files with one of these words can do any of it; the others need not be parsed.
SUSPICIOUS = re.compile(rf"\b({'|'.join([*FORBIDDEN, *PICKLES, 'allow_pickle'])})\b")


def test_nothing_reads_code_out_of_data():
    calls = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if SUSPICIOUS.search(text) else ():
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in FORBIDDEN:
                    calls.add((path.relative_to(PACKAGE).as_posix(), name))
                assert not any(word.arg == "allow_pickle" for word in node.keywords), path
            if isinstance(node, ast.Import):
                assert not PICKLES & {alias.name for alias in node.names}, path
    assert calls == ALLOWED
