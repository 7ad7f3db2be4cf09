"""With the shipped model: what a code of a public system means is a term, not a name out of context."""

import pytest

from deident import formats
from deident.config import Config
from deident.document import Kind
from deident.pipeline import Pipeline
from tests import leaks, test_structured_cda, test_structured_fhir, test_structured_hl7

HL7 = "MSH|^~\\&|||||20210304||ADT^A01|1|P|2.5\rPID|1||MR000777^^^H^MR||{name}||19800101|F||{race}\r"
FHIR = (
    '{{"resourceType":"Patient","id":"p","name":[{{"family":"{name}"}}],"maritalStatus":{{"coding":[{{"system":'
    '"{system}","code":"2106-3","display":"{display}"}}],"text":"{display}"}}}}'
)
CDA = (
    '<patient><name><family>{name}</family></name><raceCode code="2106-3" codeSystem="{system}" '
    'displayName="{display}"><originalText>{display}</originalText></raceCode></patient>'
)
CDC = "2.16.840.1.113883.6.238"


@pytest.fixture(scope="module")
def shipped() -> Pipeline:
    return Pipeline.from_config(Config())


def through(pipeline: Pipeline, name: str, text: str) -> str:
    form = formats.load(name)
    record = form.read({form.SUFFIXES[0]: text.encode()}, name="r")
    return form.write(leaks.scrubbed(pipeline, record))[form.SUFFIXES[0]].decode()


def records(name: str, display: str, *, public: bool = True) -> dict[str, str]:
    """A coded value in each format."""
    return {
        "hl7": HL7.format(name=name, race=f"2106-3^{display}^{'HL70005' if public else 'L'}"),
        "fhir": FHIR.format(name=name, display=display, system=f"urn:oid:{CDC if public else '1.2.3.4.5'}"),
        "cda": CDA.format(name=name, display=display, system=CDC if public else "1.2.3.4.5"),
    }


@pytest.mark.parametrize("display", ["White", "Christian: Baptist", "Beagle", "Chronic Disease Hospital"])
def test_a_term_stays(shipped: Pipeline, display: str) -> None:
    for name, text in records("Okonjo", display).items():
        assert through(shipped, name, text).count(display) == text.count(display), name


@pytest.mark.parametrize("race", ["2106-3^White^L", "W^WHITE", "^White", "^Not Hispanic or Latino^99RACE"])
def test_what_a_code_of_a_table_means_stays_whoevers_code_it_is(shipped: Pipeline, race: str) -> None:
    assert f"|{race}\r" in through(shipped, "hl7", HL7.format(name="Okonjo", race=race))
    own = CDA.format(name="Okonjo", display="White", system="1.2.3.4.5")
    assert through(shipped, "cda", own).count("White") == 2


def test_a_term_that_the_record_has_as_a_name_goes(shipped: Pipeline) -> None:
    for name, text in records("White", "White").items():
        assert "White" not in through(shipped, name, text), name


@pytest.mark.parametrize(
    "display",
    [
        "Call 217-555-0134",
        "Seen by Dr. Zebulonquist",
        "Consult: Tomasz Kowalski",
        "okonjo@example.org",
    ],
)
def test_what_tells_itself_goes_from_a_term_as_well(shipped: Pipeline, display: str) -> None:
    for name, text in records("Smith", display).items():
        assert (
            leaks.leaked(through(shipped, name, text), ["217-555-0134", "Zebulonquist", "okonjo", "Kowalski"]) == []
        ), name


def test_what_a_sites_own_code_means_is_read_by_all(shipped: Pipeline) -> None:
    told = records("Okonjo", "Kowalski", public=False) | {
        "hl7": "MSH|^~\\&|||||20210304||ADT^A01|1|P|2.5\rDG1|1||7^Kowalski^L\r",
        "cda": '<observation><code code="7" codeSystem="1.2.3.4.5" displayName="Kowalski"/></observation>',
    }
    for name, text in told.items():
        assert leaks.leaked(through(shipped, name, text), ["Kowalski"]) == [], name


def test_a_term_is_one_wherever_the_record_repeats_it() -> None:
    form = formats.load("fhir")
    record = form.read({".json": records("Okonjo", "White")["fhir"].encode()}, name="r")
    assert [doc.place.kind for doc in record.documents if doc.place is not None and doc.text == "White"] == [Kind.TERM]


@pytest.mark.parametrize(
    ("name", "corpus", "kept"),
    [
        ("hl7", test_structured_hl7.corpus, ("2106-3^White^HL70005", "58410-2^CBC panel^LN", "^Whole blood^HL70487")),
        ("fhir", test_structured_fhir.corpus, ('"display":"White"', '"valueString":"White"', '"display":"Hemoglobin"')),
        ("cda", test_structured_cda.corpus, ('displayName="White"', 'displayName="Penicillin G"', '"LOINC"')),
    ],
)  # fmt: skip
def test_the_leak_corpora_under_the_shipped_model(
    shipped: Pipeline, name: str, corpus: leaks.Corpus, kept: tuple[str, ...]
) -> None:
    text, planted = corpus()
    made = through(shipped, name, text)
    assert leaks.leaked(made, planted) == []
    assert [value for value in kept if value not in made] == []
