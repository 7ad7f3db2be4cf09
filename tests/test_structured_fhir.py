# ruff: noqa: E501 (resources read better in long lines)
"""FHIR R4: every path of the checklist (product anchors, section 4) planted and gone, references intact, valid."""

import base64
import io
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deident import formats
from deident.batch import Outcome, here, to_folder
from deident.document import Record, Skeleton
from deident.errors import ConfigError, FormatError
from deident.formats import fhir
from deident.labels import Label
from deident.pipeline import Pipeline
from tests import leaks
from tests.plant import Plant

CORE = "http://hl7.org/fhir/us/core/StructureDefinition/"
BASE = "http://hl7.org/fhir/StructureDefinition/"
XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def bundle(plant: Plant) -> dict[str, Any]:
    """A bundle with a sentinel in every path of the checklist, clinical values between them."""
    word, number, date, uuid = plant.word, plant.number, plant.day, plant.uuid
    patient, doctor, clinic, encounter = uuid(), uuid(), uuid(), uuid()
    server = f"https://{word()}.example.org/fhir"
    mrn = number()

    def name() -> dict[str, Any]:
        period = {"start": date(), "end": date()}
        return {"use": "official", "text": f"{word()} {word()}", "family": word(), "given": [word(), word()],
                "prefix": ["Mrs."], "suffix": [word()], "period": period}  # fmt: skip

    def address() -> dict[str, Any]:
        return {"use": "home", "text": f"{word()} {number()}", "line": [f"{number()} {word()} Street"], "city": word(),
                "district": word(), "state": "IL", "postalCode": number(), "country": "US",
                "extension": [{"url": f"{BASE}geolocation", "extension": [
                    {"url": "latitude", "valueDecimal": 41.878113}, {"url": "longitude", "valueDecimal": -87.629799}]}],
                }  # fmt: skip

    def telecom() -> list[dict[str, Any]]:
        return [{"system": "phone", "value": f"({number()})"}, {"system": "email", "value": f"{word()}@example.org"},
                {"value": number()}]  # fmt: skip

    def identifier(code: str = "MR", value: str | None = None) -> dict[str, Any]:
        coding = {"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": code}
        return {"type": {"coding": [coding], "text": "Number"}, "system": f"http://{word()}.example.org/ids",
                "value": value or number(), "assigner": {"display": f"{word()} Hospital"},
                "period": {"start": date()}}  # fmt: skip

    def ref(target: str, kind: str = "") -> dict[str, Any]:
        return {"reference": f"{kind}/{target}" if kind else f"urn:uuid:{target}", "display": f"{word()} {word()}"}

    subject = {"reference": f"urn:uuid:{patient}", "display": word()}
    narrative = (
        f'<div {XHTML} id="{word()}"><!-- {word()} --><?pi {word()}?><p title="{word()}">Mrs. {word()}, MRN {mrn}</p>'
        f'<img src="https://example.org/{word()}.png" alt="{word()}"/><a href="https://example.org/{word()}">Dr. {word()}'
        f"</a><table><tr><td>Hemoglobin</td><td>13.2 g/dL</td></tr></table><script>{word()}</script></div>"
    )
    text = {"status": "generated", "div": narrative}
    resources: list[dict[str, Any]] = [
        {
            "resourceType": "Patient", "id": patient, "text": text, "active": True, "gender": "female",
            "meta": {"source": f"#{word()}", "versionId": "3", "lastUpdated": f"{date()}T10:11:12Z",
                     "tag": [{"system": f"http://{word()}.example.org", "code": word(), "display": word()}],
                     "profile": [f"{CORE}us-core-patient"]},
            "implicitRules": f"http://{word()}.example.org/rules", "language": "en-US",
            "identifier": [identifier(value=mrn), identifier("SS"), {"system": "http://hl7.org/fhir/sid/us-ssn",
                "value": number(), "extension": [{"url": f"{BASE}rendered-value", "valueString": number()}]}],
            "name": [name()], "telecom": telecom(), "address": [address()], "birthDate": date(),
            "_birthDate": {"extension": [{"url": f"{BASE}patient-birthTime", "valueDateTime": f"{date()}T01:02:03Z"}]},
            "deceasedDateTime": f"{date()}T10:11:12-05:00", "maritalStatus": {"text": "Married"},
            "photo": [{"contentType": "image/png", "data": b64(f"\x89PNG {word()}"), "title": f"Mrs. {word()}",
                       "url": f"https://{word()}.example.org/p.png", "hash": b64(word()), "creation": date()}],
            "contact": [{"name": name(), "telecom": telecom(), "address": address(), "organization": {"display": word()},
                         "relationship": [{"text": "Mother"}]}],
            "generalPractitioner": [ref(doctor)], "managingOrganization": {"identifier": identifier(), "display": word()},
            "link": [{"other": ref(uuid(), "Patient"), "type": "seealso"}],
            "extension": [
                {"url": f"{CORE}us-core-race", "extension": [
                    {"url": "ombCategory", "valueCoding": {"system": "urn:oid:2.16.840.1.113883.6.238", "code": "2106-3",
                                                           "display": "White"}},
                    {"url": "text", "valueString": "White"}]},
                {"url": f"{BASE}patient-mothersMaidenName", "valueString": word()},
                {"url": f"{BASE}patient-birthPlace", "valueAddress": address()},
                {"url": f"https://{word()}.example.org/x", "valueString": word()},
                {"url": f"https://{word()}.example.org/y", "extension": [{"url": word(), "valueString": word()}]},
            ],
            "modifierExtension": [{"url": f"https://{word()}.example.org/m", "valueCode": word()}],
            word(): word(),
        },
        {"resourceType": "RelatedPerson", "id": uuid(), "patient": subject, "name": [name()], "telecom": telecom(),
         "address": [address()], "birthDate": date(), "identifier": [identifier()], "period": {"start": date()},
         "relationship": [{"text": f"Mother of Mrs. {word()}"}]},
        {"resourceType": "Practitioner", "id": doctor, "name": [name()], "telecom": telecom(), "address": [address()],
         "birthDate": date(), "identifier": [identifier("NPI")], "qualification": [
             {"identifier": [identifier("MD")], "code": {"text": "MD"}, "issuer": {"display": word()}}]},
        {"resourceType": "Person", "id": uuid(), "name": [name()], "telecom": telecom(), "address": [address()],
         "birthDate": date(), "link": [{"target": ref(patient, "Patient")}]},
        {"resourceType": "Organization", "id": clinic, "name": f"{word()} {word()}", "alias": [word()],
         "telecom": telecom(), "address": [address()], "identifier": [identifier()],
         "contact": [{"name": name(), "telecom": telecom(), "address": address()}]},
        {"resourceType": "Location", "id": uuid(), "name": word(), "alias": [word()], "description": f"Dr. {word()}",
         "telecom": telecom(), "address": address(), "position": {"longitude": -83.694731, "latitude": 42.256513}},
        {"resourceType": "Encounter", "id": encounter, "status": "finished", "subject": subject,
         "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
         "identifier": [identifier("VN")], "participant": [{"individual": ref(doctor)}],
         "period": {"start": f"{date()}T10:00:00Z", "end": f"{date()}T11:00:00Z"},
         "hospitalization": {"preAdmissionIdentifier": identifier(), "dischargeDisposition": {"text": "Home"}},
         "location": [{"location": {"display": word()}}], "serviceProvider": ref(clinic)},
        {"resourceType": "Observation", "id": uuid(), "status": "final", "subject": subject,
         "contained": [{"resourceType": "Device", "id": word(), "serialNumber": number(), "manufacturer": "Acme"}],
         "encounter": {"reference": f"Encounter/{encounter}"},
         "code": {"coding": [{"system": "http://loinc.org", "code": "718-7", "display": "Hemoglobin", "version": "2.72"}],
                  "text": "Hemoglobin"},
         "effectiveDateTime": f"{date()}T10:11:12Z", "issued": f"{date()}T10:11:12.123-05:00",
         "performer": [{"reference": f"Practitioner?identifier=http://{word()}.example.org/npi|{number()}"},
                       {"reference": f"{server}/Organization/{number()}/_history/{number()}"}],
         "valueQuantity": {"value": 13.20, "unit": "g/dL", "system": "http://unitsofmeasure.org", "code": "g/dL"},
         "note": [{"authorString": f"{word()} {word()}", "time": date(), "text": f"Called Dr. {word()}; MRN {mrn}."}],
         "interpretation": [{"text": "Normal"}], "device": {"reference": "#dev"},
         "referenceRange": [{"low": {"value": 12.0}, "text": "12.0-16.0"}],
         "component": [{"code": {"text": "Note"}, "valueString": f"Mrs. {word()} fainted"}]},
        {"resourceType": "Observation", "id": uuid(), "status": "final", "subject": subject, "code": {"text": "Age"},
         "valueQuantity": {"value": 97, "unit": "years", "code": "a"}, "valueString_": word()},
        {"resourceType": "DiagnosticReport", "id": uuid(), "status": "final", "subject": subject,
         "code": {"text": "Report"}, "conclusion": f"Dr. {word()} agrees: no fracture.",
         "presentedForm": [
             {"contentType": "text/plain; charset=utf-8", "data": b64(f"Seen by Dr. {word()} for her hip. MRN {mrn}")},
             {"contentType": "text/html", "data": b64(f"<html><body><p>Mrs. {word()}</p><!--{word()}--></body></html>")},
             {"contentType": "application/pdf", "data": b64(f"%PDF-1.4 {word()}"), "title": f"Report for Mrs. {word()}"},
             {"contentType": "text/plain", "data": b64(f"{{\\rtf1 {word()}}}")}]},
        {"resourceType": "DocumentReference", "id": uuid(), "status": "current", "subject": subject,
         "masterIdentifier": identifier(), "description": f"Letter to Dr. {word()}", "author": [{"display": word()}],
         "content": [{"attachment": {"contentType": "text/plain", "url": f"Binary/{uuid()}"}}]},
        {"resourceType": "Binary", "id": uuid(), "contentType": "text/plain", "data": b64(f"Dr. {word()} called.")},
        {"resourceType": "Communication", "id": uuid(), "status": "completed", "subject": subject,
         "payload": [{"contentString": f"Please call Dr. {word()} today."}]},
        {"resourceType": "QuestionnaireResponse", "id": uuid(), "status": "completed", "subject": subject,
         "item": [{"linkId": "1.2", "text": "How do you feel?", "answer": [{"valueString": f"Ask Dr. {word()} please"},
                                                                           {"valueDate": date()}]}]},
        {"resourceType": "Coverage", "id": uuid(), "status": "active", "beneficiary": subject, "payor": [ref(clinic)],
         "subscriberId": number(), "dependent": number(), "network": word(), "class": [
             {"type": {"text": "group"}, "value": number(), "name": word()}]},
        {"resourceType": "Device", "id": uuid(), "patient": subject, "serialNumber": number(), "lotNumber": number(),
         "distinctIdentifier": number(), "url": f"https://{word()}.example.org", "note": [{"text": f"Dr. {word()}"}],
         "udiCarrier": [{"deviceIdentifier": number(), "carrierHRF": f"(01){number()}", "carrierAIDC": b64(word())}],
         "expirationDate": f"{date()}", "contact": telecom()},
        {"resourceType": "Group", "id": uuid(), "type": "person", "actual": True, "name": f"{word()} family",
         "member": [{"entity": ref(patient, "Patient"), "period": {"start": date()}}]},
        {"resourceType": "AuditEvent", "id": uuid(), "type": {"code": "rest"}, "recorded": f"{date()}T10:11:12Z",
         "agent": [{"requestor": True, "name": word(), "altId": word(), "who": ref(doctor),
                    "network": {"address": f"10.1.{number()}", "type": "2"}}],
         "source": {"site": word(), "observer": {"display": word()}},
         "entity": [{"name": word(), "query": b64(word()), "description": f"Dr. {word()} looked",
                     "detail": [{"type": "x", "valueString": word()}]}]},
        {"resourceType": "Provenance", "id": uuid(), "target": [ref(encounter, "Encounter")],
         "recorded": f"{date()}T10:11:12Z", "agent": [{"who": {"display": f"{word()} {word()}"}}],
         "signature": [{"type": [{"code": "1.2.840.10065.1.12.1.1"}], "when": f"{date()}T10:11:12Z",
                        "who": ref(doctor), "data": b64(word())}]},
        {"resourceType": "Immunization", "id": uuid(), "status": "completed", "patient": subject,
         "vaccineCode": {"coding": [{"system": "http://hl7.org/fhir/sid/cvx", "code": "08"}]}, "lotNumber": number(),
         "occurrenceDateTime": date(), "expirationDate": date(), "primarySource": True},
        {"resourceType": "Composition", "id": uuid(), "status": "final", "type": {"text": "Note"}, "date": date(),
         "title": f"Visit of Mrs. {word()}", "author": [ref(doctor)], "subject": subject, "attester": [
             {"mode": "legal", "time": date(), "party": ref(doctor)}],
         "section": [{"title": f"Dr. {word()}", "text": {"status": "generated",
                      "div": f"<div {XHTML}>Jo<b>hn</b> and Mrs. {word()} came.</div>"}}]},
        {"resourceType": "Condition", "id": uuid(), "subject": subject, "recordedDate": date(),
         "code": {"text": "Essential hypertension", "coding": [{"system": "http://snomed.info/sct", "code": "59621000",
                  "display": "Essential hypertension (disorder)"}]},
         "onsetAge": {"value": 93, "unit": "years", "system": "http://unitsofmeasure.org", "code": "a"},
         "note": [{"text": f"As Dr. {word()} wrote", "authorReference": ref(doctor)}]},
        {"resourceType": word(), "id": number(), "name": word()},
    ]  # fmt: skip
    entries: list[dict[str, Any]] = [
        {
            "fullUrl": f"urn:uuid:{resource['id']}",
            "resource": resource,
            "request": {"method": "POST", "url": resource["resourceType"]},
        }
        for resource in resources
    ]
    entries[1]["fullUrl"] = f"{server}/RelatedPerson/{resources[1]['id']}"
    entries[2]["request"] |= {"url": f"Practitioner?identifier=http://{word()}.example.org/npi|{number()}",
        "method": "PUT", "ifNoneExist": f"identifier=http://{word()}.example.org|{number()}&name={word()}",
        "ifNoneMatch": 'W/"7"'}  # fmt: skip
    entries[3]["response"] = {"status": "201", "location": f"Person/{number()}/_history/{number()}",
        "lastModified": f"{date()}T10:11:12Z", "outcome": {"resourceType": "OperationOutcome", "issue": [
            {"severity": "error", "code": "invalid", "diagnostics": f"Dr. {word()} is unknown"}]}}  # fmt: skip
    return {
        "resourceType": "Bundle", "id": uuid(), "type": "batch", "timestamp": f"{date()}T10:11:12Z",
        "identifier": identifier(), "link": [{"relation": "self", "url": f"{server}/Patient?name={word()}&_count=10"}],
        "signature": {"type": [{"code": "1.2.840.10065.1.12.1.1"}], "when": f"{date()}T10:11:12Z", "who": ref(doctor),
                      "data": b64(word())},
        "entry": entries,
    }  # fmt: skip


CLINICAL = (
    '"gender":"female"', '"code":"2106-3"', '"display":"White"', '"code":"718-7"', '"display":"Hemoglobin"',
    '"version":"2.72"', '"value":13.2,"unit":"g/dL"', '"system":"http://loinc.org"', '"text":"12.0-16.0"', '"code":"AMB"',
    '"status":"finished"', '"text":"Home"', '"linkId":"1.2"', "How do you feel?", '"code":"08"', '"text":"Normal"',
    "Essential hypertension (disorder)", '"code":"59621000"', "<td>Hemoglobin</td><td>13.2 g/dL</td>", "no fracture.",
    '"language":"en-US"', '"contentType":"text/plain; charset=utf-8"', '"low":{"value":12.0}', '"method":"POST"',
    '"valueString":"White"', f'"{CORE}us-core-patient"', '"text":"Married"', '"active":true', '"versionId":"3"',
)  # fmt: skip
NUMBERS = ("41.878113", "87.629799", "83.694731", "42.256513", '"value":97', '"value":93')


@cache
def corpus() -> tuple[str, tuple[str, ...]]:
    plant = Plant()
    made = json.dumps(bundle(plant), separators=(",", ":"))
    return made, tuple(plant.planted)


@pytest.fixture(scope="module")
def tagging() -> Pipeline:
    return leaks.pipeline()


def through(pipeline: Pipeline, text: str) -> str:
    record = fhir.read({".json": text.encode()}, name="b")
    return fhir.write(leaks.scrubbed(pipeline, record))[".json"].decode()


def valid(data: Any) -> None:
    from fhir.resources.R4B import get_fhir_model_class

    get_fhir_model_class(data["resourceType"]).model_validate(data)


@pytest.mark.parametrize("replacement", ["tag", "surrogate"])
def test_no_sentinel_survives_and_what_is_clinical_does(replacement: str) -> None:
    text, planted = corpus()
    assert set(leaks.leaked(text, planted)) == set(planted), "a sentinel that was never there"
    out = through(leaks.pipeline(replacement), text)
    dates = [value for value in planted if re.fullmatch(r"\d{4}-\d\d-\d\d", value)]
    assert leaks.leaked(out, set(planted) - set(dates)) == []
    assert [value for value in NUMBERS if value in out] == []
    if replacement == "tag":  # a shifted date may be another one's original
        assert leaks.leaked(out, dates) == []
        assert [value for value in CLINICAL if value not in out] == []
    valid(json.loads(out))


def test_whoever_puts_a_value_back_is_caught(tagging: Pipeline) -> None:
    text, planted = corpus()
    out = through(tagging, text)
    for value in planted[:5]:
        assert leaks.leaked(out.replace("no fracture", value), planted) == [value]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "reference" and isinstance(inner, str):
                yield inner
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def targets(data: Any) -> list[list[int | None]]:
    """For every resource, which entries its references lead to."""
    places: dict[str, int] = {}
    for place, entry in enumerate(data["entry"]):
        resource = entry["resource"]
        places[entry["fullUrl"]] = places[f"{resource['resourceType']}/{resource['id']}"] = place
    return [[places.get(found) for found in references(entry["resource"])] for entry in data["entry"]]


@pytest.mark.parametrize("replacement", ["tag", "surrogate"])
def test_references_lead_where_they_led(replacement: str) -> None:
    text, _ = corpus()
    old, new = json.loads(text), json.loads(through(leaks.pipeline(replacement), text))
    old["entry"] = old["entry"][: len(new["entry"])]  # without the resource of an unknown type
    before = targets(old)
    assert targets(new) == before
    assert sum(place is not None for row in before for place in row) > 20


def test_one_identifier_has_one_stand_in_everywhere(tagging: Pipeline) -> None:
    lines = [
        {"resourceType": "Patient", "id": "p-17", "identifier": [{"system": "http://h.example.org", "value": "MR000777"}]},
        {"resourceType": "Observation", "id": "o-1", "subject": {"reference": "Patient/p-17"},
         "note": [{"text": "MRN MR000777 was wrong"}]},
        {"resourceType": "Observation", "id": "o-2", "note": [{"text": "see MR000777"}],
         "subject": {"reference": "Patient?identifier=http://h.example.org|MR000777"}},
    ]  # fmt: skip
    patient, first, second = (json.loads(through(tagging, json.dumps(line))) for line in lines)
    assert first["subject"]["reference"] == f"Patient/{patient['id']}"
    identifier = patient["identifier"][0]
    assert second["subject"]["reference"] == f"Patient?identifier={identifier['system']}|{identifier['value']}"
    whole = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": [
        {"fullUrl": f"urn:uuid:{number}", "resource": line} for number, line in enumerate(lines)]})  # fmt: skip
    made = [entry["resource"] for entry in json.loads(through(tagging, whole))["entry"]]
    assert made[0]["identifier"][0] == identifier
    assert identifier["value"] in made[1]["note"][0]["text"]
    assert identifier["value"] in made[2]["note"][0]["text"]


def test_surrogates_agree_between_fields_and_narrative() -> None:
    text = json.dumps({
        "resourceType": "Patient", "id": "p", "name": [{"family": "Okonjo", "given": ["Adaeze"]}],
        "text": {"status": "generated", "div": f"<div {XHTML}><p>Name: <b>Adaeze</b> Okonjo</p><p>Ok<i>onjo</i></p></div>"},
    })  # fmt: skip
    made = json.loads(through(leaks.pipeline("surrogate"), text))
    family, given = made["name"][0]["family"], made["name"][0]["given"][0]
    # a name over several elements stands in the first of them
    assert f"<p>Name: <b>{given} {family}</b></p><p>{family}<i></i></p>" in made["text"]["div"]


@pytest.mark.parametrize("pretty", [None, 2])
def test_what_stays_is_written_as_it_was(tagging: Pipeline, pretty: int | None) -> None:
    data = {"resourceType": "Observation", "status": "final", "code": {"coding": [{"code": "8480-6"}, {"code": "x"}]},
            "valueQuantity": {"value": 120, "unit": "mm[Hg]"}, "component": []}  # fmt: skip
    text = json.dumps(data, indent=pretty, separators=(",", ":") if pretty is None else None) + "\n"
    text = text.replace(":120", ":1.50e2").replace(": 120", ": 1.50e2")
    kept = text.replace(',"component":[]', "").replace(',\n  "component": []', "")
    assert through(tagging, text) == kept


def test_dates_that_cannot_stay_are_masked_and_valid(tagging: Pipeline) -> None:
    data = {"resourceType": "Patient", "birthDate": "1921-03-04", "deceasedDateTime": "2021-03-04T10:00:00Z",
            "name": [{"period": {"start": "1921-03", "end": "2020"}}]}  # fmt: skip
    made = json.loads(through(tagging, json.dumps(data)))
    masked = {"extension": [{"url": f"{BASE}data-absent-reason", "valueCode": "masked"}]}
    assert made == {"resourceType": "Patient", "_birthDate": masked, "deceasedDateTime": "2021",
                    "name": [{"period": {"_start": masked, "end": "2020"}}]}  # fmt: skip
    valid(made)


def test_a_modifier_that_nobody_knows_leaves_a_mark(tagging: Pipeline) -> None:
    data = {"resourceType": "Basic", "code": {"text": "x"}, "modifierExtension": [
        {"url": "http://zebulonquist.example.org/not", "valueBoolean": True}]}  # fmt: skip
    made = json.loads(through(tagging, json.dumps(data)))
    (left,) = made["modifierExtension"]
    assert left["extension"][0]["valueCode"] == "masked"
    assert "zebulonquist" not in json.dumps(made)
    valid(made)


def test_what_became_of_each_path_is_counted() -> None:
    text, planted = corpus()
    frame = fhir.read({".json": text.encode()}, name="b").frame
    assert isinstance(frame, Skeleton)
    blocked = {path for what, path in frame.paths if what == "blocked"}
    expected = {
        "Patient.?",
        "Patient.extension (unknown)",
        "a resource of an unknown type",
        "Provenance.signature.data",
    }
    assert expected | {"Location.position.longitude", "DiagnosticReport.presentedForm.data"} <= blocked
    assert leaks.leaked(repr(dict(frame.paths)), planted) == []
    assert leaks.leaked(repr(frame.parts), planted) == [], "the skeleton outlives scrubbing and must hold nothing"


def test_every_prefix_is_an_error_or_clean(tagging: Pipeline) -> None:
    text, planted = corpus()
    lines = "\n".join(json.dumps(entry["resource"]) for entry in json.loads(text)["entry"][:3])
    for source, sizes in ((text, range(0, len(text), len(text) // 40)), (lines, range(0, len(lines), 97))):
        for size in sizes:
            for _, piece in fhir.pieces(io.BytesIO(source[:size].encode())):
                try:
                    out = through(tagging, piece.decode())
                except FormatError as error:
                    assert leaks.leaked(str(error), planted) == []
                else:
                    assert leaks.leaked(out, planted) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not a FHIR resource"),
        ('{"name": "Okonjo"}', "not a FHIR resource"),
        ('{"resourceType": "Okonjo"}', "a resource of a type that nobody listed"),
        ('{"resourceType": "Patient", "id": "Okonjo"', "line 1: not JSON at column"),
        ('{"resourceType": "Patient", "id": "Okonjo", "id": "x"}', "an object with one key twice"),
        ('{"resourceType": "Basic", "a": NaN}', "a number that is none"),
        ('{"resourceType": "Basic", "author": {"display": "Okonjo\\u0001"}}', "a string: the character at offset 6"),
        ('{"resourceType": "Basic", "author": {"display": "Okonjo\\ud800"}}', "a string: the character at offset 6"),
        ('{"resourceType":"Bundle","entry":[{"resource":' * 200 + "1" + "}]}" * 200, "objects in objects too deep"),
        ('{"a":' * 100_000, "not JSON that can be read"),
    ],
)
def test_broken_resources_are_refused_without_their_text(text: str, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        fhir.read({".json": text.encode()}, name="b")
    assert str(caught.value).startswith(reason)
    assert "Okonjo" not in str(caught.value)


def test_values_of_another_kind_are_blocked(tagging: Pipeline) -> None:
    data = {"resourceType": "Patient", "active": "Zebulonquist", "name": "Zebulonquist", "gender": {"a": "Zebulonquist"},
            "birthDate": 19210304, "identifier": [["Zebulonquist"], {"value": {"x": "Zebulonquist"}}],
            "contact": ["Zebulonquist"], "extension": "Zebulonquist", "contained": ["Zebulonquist"],
            "text": "Zebulonquist", "meta": "Zebulonquist", "maritalStatus": {"coding": "Zebulonquist"},
            "telecom": [None, {"value": None}], "multipleBirthInteger": "Zebulonquist"}  # fmt: skip
    assert json.loads(through(tagging, json.dumps(data))) == {"resourceType": "Patient"}


def test_retained_values_are_no_identifiers_of_the_record(tagging: Pipeline) -> None:
    data = {"resourceType": "Patient", "identifier": [{"value": "MR000777"}], "name": [{"family": "Zebulonquist"}],
            "maritalStatus": {"coding": [{"code": "MR000777", "version": "Zebulonquist"}]}}  # fmt: skip
    assert leaks.leaked(through(tagging, json.dumps(data)), ["MR000777", "Zebulonquist"]) == []


def test_an_export_is_scrubbed_line_by_line(tmp_path: Path, tagging: Pipeline) -> None:
    lines = [
        '{"resourceType":"Patient","id":"p-1","name":[{"family":"Okonjo"}]}',
        '{"resourceType":"Observation","id":"o","subject":{"reference":"Patient/p-1"},"code":{"text":"Pulse"}}',
        '{"resourceType":"Patient","id":"p-2","name":[{"family":"Lundqvist"}',
        "",
        '{"resourceType":"Encounter","subject":{"reference":"Patient/p-1","display":"Okonjo"}}',
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "export.ndjson").write_text("\n".join(lines) + "\n")
    (tmp_path / "in" / "one.json").write_text(json.dumps(json.loads(lines[0]), indent=2))
    outcome = Outcome()
    for _ in to_folder(here(tagging.scrub), [tmp_path / "in"], tmp_path / "out", outcome):
        pass
    made = [json.loads(line) for line in (tmp_path / "out" / "export.ndjson").read_text().splitlines()]
    assert [line["resourceType"] for line in made] == ["Patient", "Observation", "Encounter"]
    assert made[1]["subject"]["reference"] == made[2]["subject"]["reference"] == f"Patient/{made[0]['id']}"
    assert json.loads((tmp_path / "out" / "one.json").read_text())["id"] == made[0]["id"]
    assert [failure.reason.split(":")[0] for failure in outcome.failures] == ["line 3"]
    assert outcome.done == 4
    everything = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert leaks.leaked(everything, ["Okonjo", "Lundqvist"]) == []


def test_pieces() -> None:
    def cut(text: str) -> list[tuple[int, str]]:
        return [(line, piece.decode()) for line, piece in fhir.pieces(io.BytesIO(text.encode()))]

    assert cut('\n{"a":1}\n\n{"b":2}\n') == [(2, '{"a":1}\n'), (4, '{"b":2}\n')]
    assert cut('{\n "a": 1\n}\n') == [(1, '{\n "a": 1\n}\n')]
    assert cut('{"a":\n{"b":2}}\n') == [(1, '{"a":\n'), (2, '{"b":2}}\n')]  # which both are refused
    assert cut('{"a":1}') == [(1, '{"a":1}')]
    assert cut("\n\n") == []


def test_a_site_adds_types_and_extensions(tmp_path: Path, tagging: Pipeline) -> None:
    site = tmp_path / "site.toml"
    site.write_text(
        '[extensions]\n"http://site.example.org/ward" = "text ROOM"\n'
        '"http://site.example.org/team" = { lead = "name DOCTOR", size = "value" }\n'
        '[Ward]\nnumber = "beds"\n"text HOSPITAL" = "name"\nIdentifier = "identifier"\n[Patient]\nprose = "remark"\n'
    )
    form = formats.load(f"fhir:{site}")
    ward = {"resourceType": "Ward", "id": "w", "beds": 12, "name": "Zebulonquist", "nurse": "Zebulonquist",
            "identifier": [{"value": "MR000777"}],
            "extension": [{"url": "http://site.example.org/ward", "valueString": "Zebulonquist"},
                          {"url": "http://site.example.org/team", "extension": [
                              {"url": "lead", "valueString": "Tola Zebulonquist"}, {"url": "size", "valueInteger": 5}]}]}  # fmt: skip
    made = form.write(leaks.scrubbed(tagging, form.read({".json": json.dumps(ward).encode()}, name="w")))[
        ".json"
    ].decode()
    assert leaks.leaked(made, ["Zebulonquist", "MR000777"]) == []
    found = json.loads(made)
    assert (found["beds"], found["name"], "nurse" in found) == (12, "[HOSPITAL]", False)
    assert found["extension"][0]["valueString"] == "[ROOM]"
    assert found["extension"][1]["extension"][1] == {"url": "size", "valueInteger": 5}
    for content, reason in (
        ('[Ward]\nkept = "beds"', "no disposition 'kept'"),
        ('[Ward]\n"text NAMES" = "x"', "no label 'NAMES'"),
        ("[Ward]\nkeep = 3", "must be a table"),
        ("extensions = 3", "extensions must be a table"),
        ("[", "is not TOML"),
    ):
        other = tmp_path / f"{abs(hash(content))}.toml"
        other.write_text(content)
        with pytest.raises(ConfigError, match=reason):
            formats.load(f"fhir:{other}")
    with pytest.raises(ConfigError, match="there is no file"):
        formats.load(f"fhir:{tmp_path / 'none.toml'}")


def test_only_what_was_read_is_written() -> None:
    record = fhir.read({".json": b'{"resourceType": "Basic", "id": "7"}'}, name="b")
    with pytest.raises(FormatError, match="not those that were read"):
        fhir.write(Record((), record.frame))


def test_fields_are_known_by_position() -> None:
    text, _ = corpus()
    record = fhir.read({".json": text.encode()}, name="b")
    labels = {doc.place.path: doc.spans[0].label for doc in record.documents if doc.place is not None and doc.spans}
    assert labels["Patient.name.family"] is Label.PATIENT
    assert labels["Practitioner.name.family"] is Label.DOCTOR
    assert labels["Coverage.subscriberId"] is Label.HEALTHPLAN
    assert labels["Encounter.participant.individual.display"] is Label.DOCTOR
    assert labels["Patient.address.city"] is Label.CITY


def test_every_element_that_fhir_resources_knows_has_a_disposition() -> None:
    """The table was made from R4B; what is missing would be blocked though nobody chose so."""
    from fhir.resources.R4B import get_fhir_model_class

    common = {"resource_type", "resourceType", "fhir_comments", "id", "extension", "modifierExtension"}
    of_resources = {"meta", "implicitRules", "language", "contained"}
    missing: list[str] = []
    for name, rules in fhir.table().types.items():
        model = get_fhir_model_class(name)
        elements = {field.alias or key for key, field in model.model_fields.items() if not key.endswith("__ext")}
        skipped = common | (of_resources if "implicitRules" in elements else set())
        missing += [
            f"{name}.{element}"
            for element in elements - skipped - set(rules)
            if not element.startswith("_") and not (element == "text" and "implicitRules" in elements)
        ]
        assert not set(rules) - elements, name
    assert missing == []
