"""The mended text: same length, what was meant, and nothing else touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import detect
from deident.document import Document
from deident.labels import Label
from deident.mending import mended


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("seen by Dr. Rosenb1um at Dallas.", "seen by Dr. Rosenblum at Dallas."),
        ("MERCY H0SPITAL", "MERCY HOSPITAL"),
        ("Mr. Mi|ler came in 0ctober", "Mr. Miller came in october"),
        (
            "dR. aRCENEAUX SAW hIM AT lAFAYETTE gENERAL; hE LIVES WITH jOLIE tRINH",
            "Dr. Arceneaux saw Him at Lafayette General; He lives with Jolie Trinh",
        ),
        (
            "seen by dr gold in tulsa today with his wife curtis bell and j. villalobos, harlan e. okoro md",
            "seen by Dr Gold in Tulsa today with his wife Curtis Bell and J. Villalobos, Harlan E. Okoro MD",
        ),
        ("was sent over from ogden, ut 84401 by his daughter", "was sent over from Ogden, UT 84401 by his daughter"),
    ],
)
def test_accidents_are_undone(text: str, meant: str) -> None:
    assert mended(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "HbA1c 7.1, SpO2 98, B12 low, T2DM, L4-S1, H1N1, CA125, mRNA vaccine, pH 7.4, 10mg",
        "Seen by Dr. Gold on the ward; the patient is well and has no complaints at all.",
        "SEEN BY DR. GOLD ON THE WARD; THE PATIENT IS WELL AND HAS NO COMPLAINTS AT ALL.",
        "MRN A0158842, lot 5T0151, code W0421",
        "",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert mended(text) == text


@given(st.text(max_size=300) | st.text("aAbB01|!58 .,'dr", max_size=300))
def test_offsets_hold(text: str) -> None:
    assert len(mended(text)) == len(text)


def test_names_are_found_without_their_capitals() -> None:
    text = "met with ms oyelaran and her son curtis bell, who lives in fresno with filomena nunes; call dr gold today."
    spans = list(detect.load("nlm").detect(Document("1", text)))
    named = [text[span.start : span.end] for span in spans if span.label in (Label.PATIENT, Label.DOCTOR)]
    assert {"oyelaran", "curtis bell", "filomena nunes", "gold"} <= set(named)
