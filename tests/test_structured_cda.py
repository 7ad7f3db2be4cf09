# ruff: noqa: E501 (documents read better in long lines)
"""CDA R2: every path of the checklist (product anchors, section 4) planted and gone, references intact."""

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # compiled, and without types

from deident import formats
from deident.batch import Outcome, here, to_folder
from deident.document import Record, Skeleton
from deident.errors import FormatError
from deident.formats import _structure, cda, fhir, hl7
from deident.pipeline import Pipeline
from tests import leaks
from tests.plant import Plant

NAMESPACES = (
    'xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
LOINC = 'codeSystem="2.16.840.1.113883.6.1" codeSystemName="LOINC"'
SNOMED = 'codeSystem="2.16.840.1.113883.6.96" codeSystemName="SNOMED CT"'


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def document(plant: Plant) -> str:
    """A document with a sentinel in every path of the checklist, clinical values between them."""
    word, number, uuid = plant.word, plant.number, plant.uuid
    mrn, surname, oid = number(), word(), f"2.16.840.1.113883.19.{plant.number()}"
    anchors = [word() for _ in range(6)]

    def day() -> str:
        return plant.day().replace("-", "")

    def time() -> str:
        return f'<time value="{day()}101112-0500"/>'

    def interval() -> str:
        return f'<effectiveTime><low value="{day()}"/><high value="{day()}1015"/></effectiveTime>'

    def ident() -> str:
        return f'<id root="{uuid()}"/><id root="2.16.840.1.113883.19.{number()}" extension="{word()}{number()}" assigningAuthorityName="{word()} Hospital"/>'

    def name(family: str = "") -> str:
        return (
            f'<name use="L"><prefix>Mrs.</prefix><given>{word()}</given><given qualifier="CL">{word()}</given>'
            f'<family>{family or word()}</family><family qualifier="BR">{word()}</family><suffix>{word()}</suffix>'
            f'<validTime><low value="{day()}"/></validTime></name><name>{word()} {word()}</name>'
        )

    def address() -> str:
        return (
            f'<addr use="HP"><streetAddressLine>{number()} {word()} Street</streetAddressLine><city>{word()}</city>'
            f"<county>{word()}</county><state>IL</state><postalCode>{number()}</postalCode><country>US</country>"
            f'<useablePeriod xsi:type="IVL_TS"><low value="{day()}"/></useablePeriod></addr><addr>{number()} {word()} Road</addr>'
        )

    def telecom() -> str:
        return (
            f'<telecom value="tel:+1({number()})" use="HP"/><telecom value="mailto:{word()}@example.org"/>'
            f'<telecom value="{number()}"/><telecom value="https://{word()}.example.org/x"/>'
        )

    def organization(tag: str) -> str:
        return f"<{tag}>{ident()}<name>{word()} {word()}</name>{telecom()}{address()}</{tag}>"

    def assigned(tag: str = "assignedEntity") -> str:
        return (
            f'<{tag}>{ident()}<code code="207Q00000X" codeSystem="2.16.840.1.113883.6.101" displayName="Family Medicine"/>'
            f"{address()}{telecom()}<assignedPerson>{name()}</assignedPerson>{organization('representedOrganization')}</{tag}>"
        )

    def author() -> str:
        return f"<author>{time()}{assigned('assignedAuthor')}</author>"

    def related() -> str:
        return (
            f'<relatedEntity classCode="PRS"><code code="MTH" codeSystem="2.16.840.1.113883.5.111"/>{address()}{telecom()}'
            f"<relatedPerson>{name()}</relatedPerson></relatedEntity>"
        )

    def unknown() -> str:
        element = word()
        return f"<{element}>{word()}</{element}>"

    def text() -> str:
        return f"<text>Called Dr. {word()}; MRN {mrn}.</text>"

    header = "".join([
        f'<!-- {word()} --><realmCode code="US"/><typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>',
        f'<templateId root="2.16.840.1.113883.10.20.22.1.1" extension="2015-08-01"/><templateId root="{oid}"/>',
        f'<id root="{uuid()}" extension="{word()}"/><code code="34133-9" {LOINC} displayName="Summarization of Episode Note"/>',
        f'<title>Visit of Mrs. {word()}</title><effectiveTime value="{day()}101112+0500"/>',
        '<confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/><languageCode code="en-US"/>',
        f'<setId root="{uuid()}" extension="{word()}"/><versionNumber value="3"/><copyTime value="{day()}"/>',
        f'<recordTarget><patientRole><id root="2.16.840.1.113883.19.5" extension="{mrn}"/>',
        f'<id root="2.16.840.1.113883.4.1" extension="{number()}"/>{address()}{telecom()}<patient>{name(surname)}',
        f'<administrativeGenderCode code="F" codeSystem="2.16.840.1.113883.5.1" displayName="Female"/><birthTime value="{day()}1201"/>',
        f'<sdtc:deceasedInd value="true"/><sdtc:deceasedTime value="{day()}"/><maritalStatusCode code="M" codeSystem="2.16.840.1.113883.5.2" displayName="Married"/>',
        '<raceCode code="2106-3" codeSystem="2.16.840.1.113883.6.238" displayName="White"/>',
        f"<guardian>{ident()}{address()}{telecom()}<guardianPerson>{name()}</guardianPerson></guardian>",
        f"<guardian>{organization('guardianOrganization')}</guardian>",
        f"<birthplace><place><name>{word()}</name>{address()}</place></birthplace>",
        '<languageCommunication><languageCode code="en"/><preferenceInd value="true"/></languageCommunication>',
        f"</patient>{organization('providerOrganization')}<sdtc:identifiedBy><sdtc:alternateIdentification classCode=\"IDENT\">",
        f'<sdtc:id root="{uuid()}" extension="{number()}"/><sdtc:code code="X" codeSystem="{oid}" codeSystemName="{word()}"/>',
        "</sdtc:alternateIdentification></sdtc:identifiedBy></patientRole></recordTarget>", author(),
        f"<author>{time()}<assignedAuthor>{ident()}<assignedAuthoringDevice><manufacturerModelName>{word()}</manufacturerModelName>",
        f"<softwareName>{word()} EHR</softwareName></assignedAuthoringDevice></assignedAuthor></author>",
        f"<dataEnterer>{time()}{assigned()}</dataEnterer><informant>{assigned()}</informant><informant>{related()}</informant>",
        f"<custodian><assignedCustodian>{organization('representedCustodianOrganization')}</assignedCustodian></custodian>",
        f"<informationRecipient><intendedRecipient>{ident()}{address()}{telecom()}<informationRecipient>{name()}",
        f"</informationRecipient>{organization('receivedOrganization')}</intendedRecipient></informationRecipient>",
        f'<legalAuthenticator>{time()}<signatureCode code="S"/><sdtc:signatureText mediaType="text/xml" representation="B64">{b64(word())}',
        f"</sdtc:signatureText>{assigned()}</legalAuthenticator>",
        f'<authenticator>{time()}<signatureCode code="S"/>{assigned()}</authenticator>',
        f'<participant typeCode="IND"><time value="{day()}"/><associatedEntity classCode="NOK">{ident()}{address()}{telecom()}',
        f"<associatedPerson>{name()}</associatedPerson>{organization('scopingOrganization')}</associatedEntity></participant>",
        f"<inFulfillmentOf><order>{ident()}</order></inFulfillmentOf>",
        f'<documentationOf><serviceEvent classCode="PCPR">{ident()}{interval()}<performer typeCode="PRF">',
        f'<functionCode code="PCP" codeSystem="2.16.840.1.113883.5.88"><originalText>Dr. {word()}</originalText></functionCode>{time()}{assigned()}',
        "</performer></serviceEvent></documentationOf>",
        f'<relatedDocument typeCode="RPLC"><parentDocument>{ident()}<setId root="{uuid()}"/></parentDocument></relatedDocument>',
        f"<componentOf><encompassingEncounter>{ident()}{interval()}<responsibleParty>{assigned()}</responsibleParty>",
        f'<encounterParticipant typeCode="ATND">{time()}{assigned()}</encounterParticipant>',
        f"<location><healthCareFacility>{ident()}<location><name>{word()}</name>{address()}</location>",
        f"{organization('serviceProviderOrganization')}</healthCareFacility></location></encompassingEncounter></componentOf>",
    ])  # fmt: skip
    narrative = (
        f'<text ID="{anchors[0]}"><!-- {word()} --><?pi {word()}?><paragraph styleCode="Bold" title="{word()}"><caption>Mrs. {word()}</caption>'
        f'Seen by Dr. <content ID="{anchors[1]}">{word()}</content>, MRN {mrn}. Jo<content>hn</content></paragraph>'
        f"<paragraph>Ms. {surname[:4]}<content>{surname[4:]}</content> came.</paragraph>"
        f'<list listType="ordered"><item>Dr. {word()}<br/>called</item></list><linkHtml href="https://{word()}.example.org">Dr. {word()}</linkHtml> '
        f'<linkHtml href="#{anchors[1]}">above</linkHtml><footnoteRef IDREF="{anchors[2]}"/><footnote ID="{anchors[2]}">Mrs. {word()}</footnote>'
        f'<renderMultiMedia referencedObject="{anchors[3]}"/><table border="1" width="100%"><thead><tr><th>Test</th><th>Result</th></tr></thead>'
        f'<tbody><tr ID="{anchors[4]}"><td>Hemoglobin</td><td>13.2 g/dL</td></tr><tr styleCode="{word()}"><td>Dr.</td><td>{surname}</td></tr></tbody></table>'
        f"{unknown()}</text>"
    )
    entry = "".join([
        '<observation classCode="OBS" moodCode="EVN" negationInd="false"><templateId root="2.16.840.1.113883.10.20.22.4.2" extension="2015-08-01"/>',
        f'{ident()}<code code="718-7" {LOINC} displayName="Hemoglobin"><originalText>Dr. {word()}<reference value="#{anchors[1]}"/></originalText>',
        f'<translation code="local" codeSystem="{oid}" codeSystemName="{word()}" displayName="Mrs. {word()}"/></code>',
        f'<text>Told by Dr. {word()} <reference value="#{anchors[4]}"/></text><statusCode code="completed"/>{interval()}',
        '<value xsi:type="PQ" value="13.2" unit="g/dL"/><interpretationCode code="N" codeSystem="2.16.840.1.113883.5.83"/>',
        f'{author()}<performer>{time()}{assigned()}</performer><informant>{related()}</informant>',
        f'<participant typeCode="LOC">{time()}<participantRole classCode="SDLOC">{ident()}{address()}{telecom()}<playingEntity classCode="PLC"><name>{word()}</name></playingEntity>',
        f'<scopingEntity>{ident()}<desc>{word()}</desc></scopingEntity></participantRole></participant>',
        '<participant typeCode="CSM"><participantRole classCode="MANU"><playingEntity classCode="MMAT"><code code="7982" codeSystem="2.16.840.1.113883.6.88" displayName="Penicillin G"/><name>Penicillin</name></playingEntity></participantRole></participant>',
        f'<participant typeCode="HLD"><participantRole>{ident()}<playingEntity>{name()}<sdtc:birthTime value="{day()}"/></playingEntity></participantRole></participant>',
        f'<participant typeCode="DEV"><participantRole classCode="MANU"><id root="2.16.840.1.113883.3.3719" extension="(01){number()}"/><playingDevice><manufacturerModelName>{word()}</manufacturerModelName></playingDevice></participantRole></participant>',
        f'<subject><relatedSubject classCode="PRS"><code code="FTH" codeSystem="2.16.840.1.113883.5.111"/>{address()}<subject>{name()}<birthTime value="{day()}"/>',
        f'<sdtc:id root="{oid}" extension="{number()}"/><sdtc:deceasedTime value="{day()}"/></subject></relatedSubject></subject>',
        f'<entryRelationship typeCode="SUBJ"><act classCode="ACT" moodCode="EVN"><code code="48767-8" {LOINC}/>{text()}</act></entryRelationship>',
        *(
            f'<entryRelationship typeCode="COMP"><observation classCode="OBS" moodCode="EVN"><code code="{code}" {SNOMED}/>{value}</observation></entryRelationship>'
            for code, value in (
                ("1", f'<value xsi:type="ST">Seen by Dr. {word()}</value>'),
                ("2", f'<value xsi:type="ED" mediaType="text/plain" representation="B64">{b64(f"Mrs. {word()} fainted")}</value>'),
                ("3", f'<value xsi:type="ED" mediaType="image/png" representation="B64">{b64(word())}</value>'),
                ("4", f'<value xsi:type="TS" value="{day()}"/>'),
                ("5", f'<value xsi:type="CD" code="59621000" {SNOMED} displayName="Essential hypertension"/>'),
                ("6", f'<value xsi:type="{word()}" value="{word()}">{word()}</value>'),
                ("445518008", '<value xsi:type="INT" value="97"/>'),
                ("445518008", '<value xsi:type="PQ" value="93" unit="a"/>'),
                ("7", f'<value xsi:type="II" root="{uuid()}" extension="{number()}"/>'),
                ("8", f'<value xsi:type="PN"><family>{word()}</family></value><value xsi:type="AD"><city>{word()}</city></value>'),
                ("9", f'<value xsi:type="TEL" value="tel:{number()}"/><value xsi:type="ON">{word()}</value>'),
                ("10", f'<value xsi:type="INT" value="{number()}"/><value>{word()}</value>'),
                ("11", f'<value xsi:type="IVL_TS"><low value="{day()}"/></value><value xsi:type="BL" value="true"/>'),
            )
        ),
        f"{unknown()}</observation>",
    ])  # fmt: skip
    medication = (
        f'<substanceAdministration classCode="SBADM" moodCode="INT">{ident()}{text()}<effectiveTime xsi:type="PIVL_TS" institutionSpecified="true" operator="A">'
        f'<phase><low value="{day()}"/></phase><period value="6" unit="h"/></effectiveTime><doseQuantity value="81" unit="mg"/><consumable><manufacturedProduct classCode="MANU">'
        f'{ident()}<manufacturedMaterial><code code="243670" codeSystem="2.16.840.1.113883.6.88" displayName="Aspirin 81 MG Oral Tablet"/><lotNumberText>{number()}</lotNumberText></manufacturedMaterial>'
        f"<manufacturerOrganization><name>{word()}</name></manufacturerOrganization></manufacturedProduct></consumable></substanceAdministration>"
    )
    reference = (
        f'<act classCode="ACT" moodCode="EVN"><code code="1" {SNOMED}/><reference typeCode="REFR"><externalDocument>{ident()}'
        f'<setId root="{uuid()}"/><text><reference value="https://{word()}.example.org/{word()}.pdf"/></text></externalDocument></reference></act>'
    )
    media = f'<observationMedia classCode="OBS" moodCode="EVN" ID="{anchors[3]}"><value mediaType="image/jpeg" representation="B64">{b64(word())}</value></observationMedia>'
    section = (
        f'<section ID="{anchors[5]}" nullFlavor="NI">{ident()}<code code="30954-2" {LOINC}/><title>Results, Dr. {word()}</title>{narrative}'
        f"{author()}<informant>{assigned()}</informant>"
        f"<entry>{entry}</entry><entry>{medication}</entry><entry>{reference}</entry><entry>{media}</entry></section>"
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<?xml-stylesheet type="text/xsl" href="CDA.xsl"?>\n<?xml-stylesheet type="text/xsl" href="{word()}.xsl"?>\n'
        f'<!-- {word()} -->\n<ClinicalDocument {NAMESPACES} xsi:schemaLocation="urn:hl7-org:v3 /home/{word()}/CDA.xsd" {word()}="{word()}">'
        f"{header}\n<component>\n\t<structuredBody><component>{section}</component></structuredBody></component>{word()}</ClinicalDocument><!-- {word()} -->"
    )


CLINICAL = (
    'displayName="White"', 'displayName="Female"', 'displayName="Married"', 'code="718-7"', 'displayName="Hemoglobin"',
    'codeSystem="2.16.840.1.113883.6.1"', 'codeSystemName="LOINC"', 'xsi:type="PQ" value="13.2" unit="g/dL"',
    "<td>Hemoglobin</td><td>13.2 g/dL</td>", 'displayName="Essential hypertension"', 'displayName="Penicillin G"',
    "<name>Penicillin</name>", 'extension="2015-08-01"', 'extension="POCD_HD000040"', 'code="en-US"', 'value="6" unit="h"',
    'displayName="Aspirin 81 MG Oral Tablet"', 'xsi:type="BL" value="true"', '<versionNumber value="3"/>', 'code="2106-3"',
    'classCode="OBS" moodCode="EVN" negationInd="false"', "<country>US</country>", 'unit="mg"',
    'border="1" width="100%"', 'listType="ordered"', 'styleCode="Bold"', "<prefix>Mrs.</prefix>", 'code="N"', "above<",
    '<?xml-stylesheet type="text/xsl" href="CDA.xsl"?>', "\n<component>\n\t<structuredBody>", 'displayName="Family Medicine"',
)  # fmt: skip
NUMBERS = ('value="97"', 'value="93"')


@cache
def corpus() -> tuple[str, tuple[str, ...]]:
    plant = Plant()
    made = document(plant)
    return made, tuple(plant.planted)


@pytest.fixture(scope="module")
def tagging() -> Pipeline:
    return leaks.pipeline()


def through(pipeline: Pipeline, text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    record = cda.read({".xml": data}, name="d")
    return cda.write(leaks.scrubbed(pipeline, record))[".xml"].decode()


@pytest.mark.parametrize("replacement", ["tag", "surrogate"])
def test_no_sentinel_survives_and_what_is_clinical_does(replacement: str) -> None:
    text, planted = corpus()
    assert len(planted) > 900
    assert set(leaks.leaked(text, planted)) == set(planted), "a sentinel that was never there"
    out = through(leaks.pipeline(replacement), text)
    dates = [value for value in planted if re.fullmatch(r"\d{4}-\d\d-\d\d", value)]
    assert leaks.leaked(out, set(planted) - set(dates)) == []
    assert [value for value in NUMBERS if value in out] == []
    if replacement == "tag":  # a shifted date may be another one's original
        assert leaks.leaked(out, dates) == []
        assert [value for value in CLINICAL if value not in out] == []
    etree.fromstring(out.encode())


def test_whoever_puts_a_value_back_is_caught(tagging: Pipeline) -> None:
    text, planted = corpus()
    out = through(tagging, text)
    for value in planted[:5]:
        assert leaks.leaked(out.replace("13.2 g/dL", value), planted) == [value]


def ids(root: Any) -> dict[str, int]:
    return {found: place for place, found in enumerate(element.get("ID") for element in root.iter("*")) if found}


def targets(text: str) -> list[int | None]:
    """Of every pointer within a document, how manieth element it leads to, counted by the ids alone."""
    root = etree.fromstring(text.encode())
    order = {found: place for place, found in enumerate(ids(root))}
    pointers = [
        value.removeprefix("#")
        for element in root.iter("*")
        for name, value in element.attrib.items()
        if name in ("IDREF", "referencedObject") or (name in ("href", "value") and value.startswith("#"))
    ]
    return [order.get(pointer) for pointer in pointers]


@pytest.mark.parametrize("replacement", ["tag", "surrogate"])
def test_references_lead_where_they_led(replacement: str) -> None:
    text, _ = corpus()
    before = targets(text)
    assert targets(through(leaks.pipeline(replacement), text)) == before
    assert len(before) == 5
    assert None not in before


PATIENT = (
    '<recordTarget><patientRole><id root="2.16.840.1.113883.19.5" extension="MR000777"/><patient><name><given>Adaeze</given>'
    "<family>Okonjo</family></name></patient></patientRole></recordTarget>"
)


def body(text: str, *, title: str = "Plan") -> str:
    """A document of one section."""
    return (
        f"<ClinicalDocument {NAMESPACES}>{PATIENT}<component><structuredBody><component><section><title>{title}</title>"
        f"<text>{text}</text></section></component></structuredBody></component></ClinicalDocument>"
    )


def narrative(made: str) -> str:
    found = re.search("<text>(.*)</text>", made, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ms. Ok<content>onjo</content> came", "Ms. [PATIENT]<content></content> came"),
        ("<paragraph>Adaeze<br/>Okonjo came</paragraph>", "<paragraph>[PATIENT]<br/>[PATIENT] came</paragraph>"),
        ("<table><tbody><tr><td>Okonjo</td><td>Adaeze</td><td>13.2</td></tr></tbody></table>",
         "<table><tbody><tr><td>[PATIENT]</td><td>[PATIENT]</td><td>13.2</td></tr></tbody></table>"),
        ("<list><item>MRN MR000777</item></list>", "<list><item>MRN {code}</item></list>"),
        ("Seen: <content>Dr. Zebulonquist</content><content>Called</content>",
         "Seen: <content>Dr. [DOCTOR]</content><content>Called</content>"),
        ("<linkHtml>Dr. Zebulonquist</linkHtml><linkHtml>wrote</linkHtml>",
         "<linkHtml>Dr. [DOCTOR]</linkHtml><linkHtml>wrote</linkHtml>"),
        ("Pulse 72<!-- Okonjo -->, regular", "Pulse 72, regular"),
    ],
)  # fmt: skip
def test_a_section_is_read_as_one_text(text: str, expected: str, tagging: Pipeline) -> None:
    made = through(tagging, body(text))
    code = re.search(r'extension="(id-[0-9a-f]{16})"', made)
    assert code is not None
    assert narrative(made) == expected.format(code=code[1])


def test_surrogates_agree_between_header_and_sections() -> None:
    made = through(
        leaks.pipeline("surrogate"), body("Seen: <content>Adaeze</content> Okonjo.", title="Visit of Okonjo")
    )
    given, family = re.search("<given>(.*)</given><family>(.*)</family>", made, re.DOTALL).groups()  # type: ignore[union-attr]
    assert f"<content>{given} {family}</content>" in made
    assert f"<title>Visit of {family}</title>" in made
    assert leaks.leaked(made, ["Adaeze", "Okonjo", "MR000777"]) == []


def test_formats_share_one_identity() -> None:
    """The same patient in a message, a resource and a document."""
    pipeline = leaks.pipeline("surrogate")
    made = through(pipeline, body("Okonjo"))
    message = "MSH|^~\\&|||||20210304||ADT^A01|1|P|2.5\rPID|1||MR000777^^^H^MR||Okonjo^Adaeze\r"
    record = hl7.read({".hl7": message.encode()}, name="m")
    told = hl7.write(leaks.scrubbed(pipeline, record))[".hl7"].decode()
    resource = {"resourceType": "Patient", "id": "p", "identifier": [{"value": "MR000777"}]}
    read = fhir.read({".json": json.dumps(resource).encode()}, name="p")
    patient = json.loads(fhir.write(leaks.scrubbed(pipeline, read))[".json"])
    code = re.search(r'extension="(id-[0-9a-f]{16})"', made)
    assert code is not None
    assert code[1] in told
    assert patient["identifier"][0]["value"] == code[1]
    family = re.search("<family>(.*)</family>", made)
    assert family is not None
    assert f"|{family[1]}^" in told


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f'<text mediaType="text/plain" representation="B64">{b64("Mrs. Okonjo, pulse 72")}</text>', "pulse 72"),
        ('<text mediaType="text/plain">Mrs. Okonjo, pulse 72</text>', "pulse 72"),
        (f'<text mediaType="text/html" representation="B64">{b64("<html><body><p>Okonjo, pulse 72</p></body></html>")}</text>', "pulse 72"),
        (f'<text mediaType="application/pdf" representation="B64">{b64("%PDF-1.4 Okonjo")}</text>', ""),
        (f'<text mediaType="text/plain" representation="B64" compression="DF">{b64("Mrs. Okonjo")}</text>', ""),
        ('<text mediaType="application/pdf"><reference value="Okonjo.pdf"/></text>', ""),
        (f'<text mediaType="text/plain" representation="b64">{b64("Mrs. Okonjo, pulse 72")}</text>', "pulse 72"),
        (f'<text mediaType="application/pdf">{b64("%PDF-1.4 Okonjo")}</text>', ""),
        ('<text mediaType="image/png" representation="B64">iVBORw0KGgo=</text>', ""),
    ],
)  # fmt: skip
def test_an_unstructured_body_is_scrubbed_or_blocked(text: str, kept: str, tagging: Pipeline) -> None:
    source = f"<ClinicalDocument {NAMESPACES}>{PATIENT}<component><nonXMLBody>{text}</nonXMLBody></component></ClinicalDocument>"
    record = cda.read({".xml": source.encode()}, name="d")
    made = cda.write(leaks.scrubbed(tagging, record))[".xml"].decode()
    assert leaks.leaked(made, ["Okonjo"]) == []
    body = etree.fromstring(made.encode()).find(".//{urn:hl7-org:v3}nonXMLBody/{urn:hl7-org:v3}text")
    assert body.get("mediaType") in text
    shown = body.text or ""
    shown = base64.b64decode(shown).decode() if body.get("representation") in ("B64", "b64") else shown
    assert kept in shown
    assert bool(shown) == bool(kept)
    assert (body.get("nullFlavor") == "MSK") == (not kept)
    assert isinstance(record.frame, Skeleton)
    blocked = {path for what, path in record.frame.paths if what == "blocked"}
    assert any(path.startswith("ClinicalDocument/component/nonXMLBody/text") for path in blocked) == (not kept)


def test_a_document_in_a_resource_or_a_message_is_scrubbed(tagging: Pipeline) -> None:
    inner = '<?xml version="1.0" encoding="UTF-8"?>' + body("Ms. Okonjo, seen by Dr. Zebulonquist, pulse 72")
    data = {"resourceType": "DocumentReference", "status": "current", "content": [
        {"attachment": {"contentType": "text/xml", "data": b64(inner)}}]}  # fmt: skip
    record = fhir.read({".json": json.dumps(data).encode()}, name="r")
    made = json.loads(fhir.write(leaks.scrubbed(tagging, record))[".json"])
    message = f"MSH|^~\\&|||||20210304||MDM^T02|1|P|2.5\rOBX|1|ED|x||^text^xml^Base64^{b64(inner)}\r"
    told = hl7.write(leaks.scrubbed(tagging, hl7.read({".hl7": message.encode()}, name="m")))[".hl7"].decode()
    for blob in (made["content"][0]["attachment"]["data"], told.strip().rpartition("^")[2]):
        document = base64.b64decode(blob).decode()
        assert leaks.leaked(document, ["Okonjo", "Adaeze", "Zebulonquist", "MR000777"]) == []
        assert "pulse 72" in document
        assert cda.sniff(".xml", document.encode())


def test_dates_that_cannot_stay_are_masked(tagging: Pipeline) -> None:
    source = (
        f'<patient {NAMESPACES}><birthTime value="19210304"/><sdtc:deceasedTime value="20210304101112-0500"/></patient>'
    )
    assert through(tagging, source) == (
        f'<patient {NAMESPACES}><birthTime nullFlavor="MSK"/><sdtc:deceasedTime value="2021"/></patient>'
    )


@pytest.mark.parametrize(
    "source",
    [
        f"<section {NAMESPACES}><title>Plan</title>\n  <text><paragraph>Rest.</paragraph></text></section>",
        '<section><code code="8716-3"/><title>Vital &amp; other signs</title></section>',
        "<observation/>",
        '<addr use="HP"><country>US</country></addr>',
    ],
)
def test_what_stays_is_written_as_it_was(source: str, tagging: Pipeline) -> None:
    assert through(tagging, source) == source


def test_prefixes_are_ours(tagging: Pipeline) -> None:
    source = (
        '<Okonjo:section xmlns:Okonjo="urn:hl7-org:v3" xmlns:Adaeze="http://www.w3.org/2001/XMLSchema-instance">'
        '<Okonjo:entry><Okonjo:observation><Okonjo:value Adaeze:type="Okonjo:PQ" value="5"/></Okonjo:observation>'
        '</Okonjo:entry></Okonjo:section>'
    )  # fmt: skip
    assert through(tagging, source) == (
        '<section xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        '<entry><observation><value xsi:type="PQ" value="5"/></observation></entry></section>'
    )


def test_what_became_of_each_path_is_counted() -> None:
    text, planted = corpus()
    record = cda.read({".xml": text.encode()}, name="d")
    frame = record.frame
    assert isinstance(frame, Skeleton)
    blocked = {path for what, path in frame.paths if what == "blocked"}
    section = "ClinicalDocument/component/structuredBody/component/section"
    assert {"(comment)", "(processing instruction)", "ClinicalDocument@?", "ClinicalDocument (text)",
            "ClinicalDocument/legalAuthenticator/sdtc:signatureText", f"{section}/text (element)",
            f"{section}/text@title", f"{section}/text@href", f"{section}/text (comment)",
            f"{section}/entry/observation/?", f"{section}/entry/observationMedia/value"} <= blocked  # fmt: skip
    assert leaks.leaked(repr(dict(frame.paths)), planted) == []
    assert leaks.leaked(repr(frame.parts), planted) == [], "the skeleton outlives scrubbing and must hold nothing"
    assert leaks.leaked(" ".join(doc.id for doc in record.documents), planted) == []


def test_every_prefix_is_an_error() -> None:
    text, planted = corpus()
    data = text[: text.rindex("<!--")].encode()
    for size in range(0, len(data) - 1, len(data) // 60):
        with pytest.raises(FormatError) as caught:
            cda.read({".xml": data[:size]}, name="d")
        assert leaks.leaked(str(caught.value), planted) == []


BOMB = '<!DOCTYPE a [<!ENTITY a "Okonjo"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"Okonjo", "line 1: not well-formed XML"),
        (b"<html><body>Okonjo</body></html>", "not a CDA document"),
        (b"<Okonjo xmlns='urn:hl7-org:v3'/>", "not a CDA document"),
        (b"<ClinicalDocument xmlns='urn:okonjo'/>", "not a CDA document"),
        (f"{BOMB}<ClinicalDocument>&b;</ClinicalDocument>".encode(), "declares entities: refused"),
        (b"<!DOCTYPE a SYSTEM 'file:///etc/Okonjo'><ClinicalDocument/>", "declares entities: refused"),
        (b"<ClinicalDocument><title>&Okonjo;</title></ClinicalDocument>", "line 1: not well-formed XML"),
        ("<?xml version='1.0' encoding='UTF-8'?><title>Okonjo é</title>".encode("latin-1"), "line 1: not well-formed XML"),
        (b"<?xml version='1.0' encoding='okonjo'?><section/>", "not well-formed XML"),
        ("<section>" + "<component><section>" * 60 + "Okonjo" + "</section></component>" * 60 + "</section>",
         "line 1: elements in elements too deep"),
        ("<section><text>" + "<content>" * 210 + "Okonjo" + "</content>" * 210 + "</text></section>",
         "line 1: elements in elements too deep"),
        ("<section>" * 5000 + "</section>" * 5000, "line 1: not well-formed XML"),
        (b"<section><title>" + b"Okonjo " * 7_500_000 + b"</title></section>", "not well-formed XML"),
        (b"<section><text ID='" + b"Okonjo " * 7_500_000 + b"'/></section>", "not well-formed XML"),
    ],
    ids=range(16),
)  # fmt: skip
def test_broken_documents_are_refused_without_their_text(data: bytes | str, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        cda.read({".xml": data.encode() if isinstance(data, str) else data}, name="d")
    assert reason in str(caught.value)
    assert "Okonjo" not in str(caught.value)
    assert "okonjo" not in str(caught.value)


def test_documents_in_other_encodings_are_read(tagging: Pipeline) -> None:
    source = '<?xml version="1.0" encoding="{}"?>\n<section><title>Pulse 72, 37 °C</title></section>'
    for encoding in ("UTF-8", "UTF-16", "ISO-8859-1"):
        made = through(tagging, source.format(encoding).encode(encoding))
        assert made == source.format("UTF-8")


@pytest.mark.parametrize(
    ("head", "ours"),
    [
        (f"<ClinicalDocument {NAMESPACES}>", True),
        ('\ufeff<?xml version="1.0"?>\n<!-- <deIdi2b2> -->\n<cda:ClinicalDocument xmlns:cda="urn:hl7-org:v3">', True),
        (f"<section {NAMESPACES}>", True),
        ("<ClinicalDocument xmlns:voc='urn:hl7-org:v3/voc' xmlns", True),
        ("<deIdi2b2><TEXT><![CDATA[<ClinicalDocument xmlns='urn:hl7-org:v3'>", False),
        ("<html><ClinicalDocument>", False),
        ("<!-- <ClinicalDocument> ", False),
    ],
)
def test_a_document_is_told_by_its_first_element(head: str, *, ours: bool) -> None:
    assert cda.sniff(".xml", head.encode()) == ours
    assert not cda.sniff(".txt", head.encode())
    if ours:
        assert formats.told(".xml", head.encode()) == "cda"


def test_a_folder_of_documents_and_notes(tmp_path: Path, tagging: Pipeline) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_text(body("Ms. Okonjo came."))
    (tmp_path / "in" / "b.ccda").write_text(body("Ms. Okonjo left."))
    (tmp_path / "in" / "c.xml").write_text(body("Ms. Okonjo")[:-9])
    (tmp_path / "in" / "note.xml").write_text(
        "<deIdi2b2><TEXT><![CDATA[Seen by Dr. Okonjo.]]></TEXT><TAGS></TAGS></deIdi2b2>"
    )
    outcome = Outcome()
    for _ in to_folder(here(tagging.scrub), [tmp_path / "in"], tmp_path / "out", outcome):
        pass
    made = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(made) == {"a.xml", "b.ccda", "note.xml"}
    assert narrative(made["a.xml"]) == "Ms. [PATIENT] came."
    assert leaks.leaked("".join(made.values()), ["Okonjo", "Adaeze", "MR000777"]) == []
    assert [failure.id for failure in outcome.failures] == ["c"]


def test_only_what_was_read_is_written() -> None:
    record = cda.read({".xml": b'<section><id root="1.2.3"/></section>'}, name="d")
    with pytest.raises(FormatError, match="not those that were read"):
        cda.write(Record((), record.frame))


def test_retained_values_are_no_identifiers_of_the_record(tagging: Pipeline) -> None:
    source = body("x").replace("<title>", '<code code="MR000777" codeSystemVersion="Okonjo"/><title>')
    source = source.replace("<text>", '<templateId root="2.16.840.1.113883.10.20" extension="1.000777"/><text>')
    assert leaks.leaked(through(tagging, source), ["MR000777", "Okonjo"]) == []


def test_a_retained_value_with_an_identifier_in_it_goes(tagging: Pipeline) -> None:
    source = body("x").replace("MR000777", "7081923").replace(
        "<title>", '<id root="2.16.840.1.113883.6.7081923"/><code code="A-7081923.1" codeSystem="2.16.840.1.113883.6.1"/><title>'
    )  # fmt: skip
    made = through(tagging, source)
    assert leaks.leaked(made, ["7081923"]) == []
    assert 'codeSystem="2.16.840.1.113883.6.1"' in made


def test_every_disposition_of_the_table_is_one() -> None:
    rules = cda.table()
    leaves = set(cda._Walk(_structure.Builder("cda", "d"), etree.fromstring("<section/>")).leaves)  # pyright: ignore[reportPrivateUsage]
    for name, rows in rules.elements.items():
        for member, rule in rows.items():
            if member[0] in "@#":
                assert rule.how in leaves or rule.how == "block", (name, member)
            else:
                known = {*rules.elements, "any", "narrative", "file", "entity", "block"}
                assert (member if rule.how == "own" else rule.how) in known, (name, member)
    assert set(rules.types.values()) <= set(rules.elements)


def test_fields_are_known_by_position() -> None:
    text, _ = corpus()
    record = cda.read({".xml": text.encode()}, name="d")
    labels = {doc.place.path: doc.spans[0].label.value for doc in record.documents if doc.place and doc.spans}
    header = "ClinicalDocument/recordTarget/patientRole"
    assert labels[f"{header}/patient/name/family"] == "PATIENT"
    assert labels[f"{header}/id@extension"] == "SSN"
    assert labels[f"{header}/providerOrganization/name"] == "HOSPITAL"
    assert labels["ClinicalDocument/author/assignedAuthor/assignedPerson/name/family"] == "DOCTOR"
    assert labels["ClinicalDocument/componentOf/encompassingEncounter/id@extension"] == "ACCOUNT"
    assert all(doc.place is not None and doc.patient is not None for doc in record.documents)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('xsi:type="PQ" value="93" unit="a"', 'xsi:type="PQ" value="90" unit="a"'),
        ('xsi:type="INT" value="93"', 'xsi:type="INT" value="90"'),
        ('xsi:type="INT" value="43"', 'xsi:type="INT" value="43"'),
        ('xsi:type="PQ" value="1200" unit="mo"', 'xsi:type="PQ" unit="mo"'),
        ('xsi:type="PQ" value="18" unit="mo"', 'xsi:type="PQ" value="18" unit="mo"'),
        ('xsi:type="INT" value="7081923"', 'xsi:type="INT" value="{code}"'),
    ],
)
def test_ages_and_numbers(value: str, expected: str, tagging: Pipeline) -> None:
    observation = f'<entry><observation><code code="397659008" {SNOMED}/><value {value}/></observation></entry>'
    made = through(tagging, body("x").replace("MR000777", "7081923").replace("</section>", f"{observation}</section>"))
    code = re.search(r'extension="(id-[0-9a-f]{16})"', made)
    assert code is not None
    assert f"<value {expected.format(code=code[1])}/>" in made or "7081923" in value
    assert "7081923" not in made


def test_attributes_stand_once(tagging: Pipeline) -> None:
    source = '<x:low xmlns:x="urn:hl7-org:v3"/>'.replace("low", "act")
    source = source.replace("/>", ' x:classCode="ACT" classCode="OBS" x:Okonjo="Okonjo"/>')
    assert through(tagging, source) == '<act xmlns="urn:hl7-org:v3" classCode="OBS"/>'
