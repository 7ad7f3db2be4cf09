"""Hospitals, departments, rooms and organizations: what is general in a name stays, what is its own is drawn.

Each own word has its draw, so short forms agree with long ones: "Beth Israel Hospital" and "Beth Israel" begin with
the same two new words. "MGH" becomes the initials of what the document's "Mass General Hospital" becomes; an acronym
that no name of the document explains is changed letter for letter.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from deident import lexicons
from deident.labels import Label
from deident.lexicons import Kind
from deident.surrogates import _shapes, places
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.HOSPITAL, Label.DEPARTMENT, Label.ROOM, Label.ORGANIZATION})

# Words of which no name consists alone.
GENERAL = frozenset(
    _shapes.listed(
        """a an the and of at in for our to by on or s de hospital hospitals hosp infirmary sanatorium
        sanitarium clinic clinics polyclinic medical med center centre ctr centers health healthcare
        care hospice nursing home homes rehabilitation rehab dialysis surgery surgical surgicenter
        outpatient inpatient ambulatory psychiatric convalescent institute pavilion campus system
        systems network services service general regional community university college school
        schools academy children childrens women womens men mens veterans va county city state
        national district specialty physician physicians associates group practice eye ear nose
        throat orthopedic orthopaedic orthopedics cancer cardiac heart vascular maternity urgent
        emergency primary family internal medicine physical therapy occupational speech sports spine
        pain management endoscopy kidney renal acute long term skilled facility extended assisted
        living retirement senior adult day unit department dept division office floor wing ward
        suite ste room rm bed bay pod tower building bldg level north south east west northern
        southern eastern western central main new lab laboratory laboratories radiology cardiology
        oncology hematology neurology neurosurgery nephrology urology dermatology gastroenterology
        endocrinology rheumatology pulmonary pediatrics pediatric geriatrics psychiatry
        ophthalmology obstetrics gynecology pathology anesthesia anesthesiology trauma burn
        intensive critical coronary neonatal telemetry recovery operating infusion wound stroke step
        down mental behavioral inc incorporated llc llp ltd limited plc corp corporation company co
        gmbh association assn agency authority bank board brothers bros bureau church club
        commission committee cooperative council credit enterprises federation firm foundation fund
        guild holdings industries institution insurance international league library ministry mosque
        museum organization organisation parish partners partnership prison products shelter society
        solutions synagogue technologies temple trust union ventures works elementary middle
        kindergarten preschool jail program memorial meml mem univ isd usd pc pllc pa sa nv ag drugs drug pharmacy
        store stores market markets foods farm farms ranch freight trucking transit transport transportation lines
        construction manufacturing mfg plant mill mills mine mines factory dairy bakery restaurant cafe diner bar
        grill hotel motel inn salon shop supply motors auto steel lumber electric power gas oil water fire police
        sheriff sheriffs department post troop pack scout scouts team league lodge legion auxiliary sisters brothers
        nuns convent monastery chapel cathedral ministries seminary base army navy force corps guard reserve
        union teamsters local charter prep preparatory junior technical tech vocational daycare childcare head start
        hs ymca ywca ymha vfd vna vfw fd pd rx dme iop vamc afb rotc afl cio bn battalion regiment brigade
        infantry airborne cavalry squadron platoon fire rescue ambulance seafood seafoods packing packers roofing
        plumbing masonry builders contractors electrical drywall nursery orchard orchards feed grain elevator services
        logistics trailers interiors exteriors cleaners nails barber gym fitness soccer football baseball softball
        basketball youth camp theater theatre radio media news press times gazette herald tribune studio studios
        gallery tours cruises resort casino saloon pub pizza bbq kitchen catering tabernacle congregation fellowship
        gospel assembly god christ iglesia parish missionary distributors distributing trucking barge express
        airlines airways aviation shipyard dock docks correctional probation veteran assoc program project
        practices offices neurodiagnostics neuroscience neurosciences neuromuscular neurosurgical
        thoracic hand hip knee leg back headache epilepsy sleep disorders bone joint vision wellness aesthetic
        reconstructive digestive gi hereditary glaucoma retina laser movement scoliosis extremity upper lower breast
        surgicare endocrine psychology counseling recovery addiction detox reference genomics diagnostics diagnostic
        esophageal allergy asthma arthritis lung liver transplant hydrocephalus balance gait hyperbaric voice
        swallowing audiology hearing dentistry orthodontics pathways residences terrace manor gardens estates
        clinica clínica centro casa hogar clinique hosp snf ltc nh bh chc local council chapter chartered
        corrections number infirmary tribal nation band indian native del de la las los el da do
        dos di du le y e und co-op op coop arts marrow blood collaborative
        osteopathic cardiovascular consultants consulting brain diabetes thyroid fertility sport neurological dental
        orthopaedics lady ems fd pd hmo insurance plan motor foundry oncologists surgeons specialists neuro
        sicu micu ccu nicu picu pacu
        imaging mri ct er ed icu ob gyn ent pt ot"""
    )
)
# Each of these becomes another of its row.
_KINDRED = (
    _shapes.listed("Baptist Methodist Presbyterian Lutheran Episcopal Adventist Catholic Congregational Evangelical"),
    _shapes.listed("Mercy Providence Trinity Samaritan Shepherd Deaconess Providence Grace Charity Redeemer"),
)
_KINDRED_OF = {word.lower(): row for row in _KINDRED for word in row}
# Words of the land and of streets, as names have behind their first: "Tisdale Ridge" for "Aberdeen Valley".
_LAND = (
    _shapes.listed(
        """Valley Creek Hill Hills Ridge Bend Point Springs Grove Glen Meadow Meadows Falls Harbor Cove Bay Shore Shores
        Heights Mountain Canyon Mesa Plains Prairie Forest Woods Lake Lakes River Island Fork Forks Gap Crossing View
        Vista Trace Crest Summit Hollow Landing Park Gate Bluff Bluffs Basin Beach Coast Knob Pass Peak Pines Oaks
        Highlands Foothills Crossroads Corners Neck Slough Bayou Peninsula Lagoon Pond Range Rock Cliff Dale Field"""
    ),
    _shapes.listed("Street Road Avenue Lane Way Highway Parkway Boulevard Drive Square"),
    _shapes.listed("Red Blue Green Black White Golden Silver Grand Little Big High Bright Lone Iron Copper Crystal"),
)
_LAND_OF = {word.lower(): row for row in _LAND for word in row}
_FORCES = (*_shapes.listed("Army Navy Marines"), "Air Force", "Coast Guard", "National Guard", "Marine Corps")
_FORCES_OF = frozenset(map(_shapes.fold, _FORCES)) | {
    "armynationalguard",
    "airnationalguard",
    "usarmy",
    "usnavy",
    "usaf",
}
SAINTLY = frozenset({"st", "saint", "ste", "sainte", "san", "santa", "mount", "mt"})
_SAINTS = (
    "Aidan", "Alban", "Ambrose", "Anselm", "Bede", "Benedict", "Boniface", "Brendan", "Brigid", "Clement", "Columba",
    "Cuthbert", "Cyril", "Damian", "Denis", "Edmund", "Felix", "Gregory", "Hilary", "Hugh", "Isidore", "Jerome",
    "Kevin", "Leo", "Leonard", "Martin", "Maurice", "Methodius", "Nicholas", "Odile", "Oswald", "Patrick", "Philip",
    "Quentin", "Raphael", "Rita", "Sebastian", "Silas", "Swithun", "Theodore", "Ursula", "Valentine", "Vincent",
    "Walburga", "Wilfrid", "Zita",
)  # fmt: skip
_DEPARTMENTS = (
    "Internal Medicine", "Cardiology", "Oncology", "Neurology", "Nephrology", "Urology", "Dermatology", "Orthopedics",
    "Gastroenterology", "Endocrinology", "Rheumatology", "Pulmonary Medicine", "Pediatrics", "Geriatrics", "Psychiatry",
    "Ophthalmology", "Pathology", "Radiology", "Anesthesiology", "General Surgery", "Vascular Surgery", "Hematology",
    "Emergency Department", "Intensive Care Unit", "Physical Therapy", "Infectious Diseases", "Family Medicine",
)  # fmt: skip
_TOKEN = re.compile(
    r"(?<=\d)(?:st|nd|rd|th)(?!\w)|(?:[^\W\d_][\u0300-\u036f]*)+(?:[‘ʻ](?:[^\W\d_][\u0300-\u036f]*)+)*|\d+|.",
    re.DOTALL | re.IGNORECASE,
)
_SMALL = frozenset(_shapes.listed("the of and at in for on a an s"))


@dataclass(frozen=True, slots=True)
class Context:
    """Acronym → the name in this document whose initials it is."""

    names: Mapping[str, str] = field(default_factory=dict[str, str])


def _initials(text: str) -> str:
    return "".join(
        token[0].lower() for token in _TOKEN.findall(text) if token[0].isalpha() and token.lower() not in _SMALL
    )


def notice(mentions: Sequence[Mention]) -> Context:
    names: dict[str, str] = {}
    for mention in mentions:
        if mention.label in LABELS and " " in mention.text.strip():
            letters = _initials(mention.text)
            if 2 <= len(letters) <= 6:
                names.setdefault(letters, mention.text)
    return Context(names)


def surrogate(mention: Mention, draw: Draw, context: Context, options: Options) -> str:  # noqa: ARG001 (the face of all families)
    text = mention.text if mention.label is Label.ROOM else _shapes.letters_read(mention.text)
    spaced = _shapes.unspaced(text)
    if spaced is not None:
        return _shapes.spaced(_named(spaced, mention.label, draw))
    bare = text.strip(" .")
    letters = _shapes.fold(bare)
    if " " not in bare and letters in context.names:
        new = _initials(_named(context.names[letters], mention.label, draw))
        new = _shapes.like(bare, new)
        if "." in bare:
            new = ".".join(new)
        return text.replace(bare, new) if letters != new.lower() else _shapes.scrambled(text, draw, "acronym", letters)
    if letters in _FORCES_OF:
        return _shapes.wrapped(text, _shapes.like(text, _shapes.unlike(draw, "force", letters, _FORCES)))
    if _is_acronym(bare):
        return _shapes.scrambled(text, draw, "acronym", letters)
    return _named(text, mention.label, draw)


def _is_acronym(text: str) -> bool:
    letters = text.replace(".", "").replace("&", "")
    if not 2 <= len(letters) <= 6 or not (letters.isalpha() and letters.isupper()):
        return False
    row = lexicons.words().get(letters)
    return len(letters) <= 3 or row.name + row.english < 2000 or not set(letters) & set("AEIOUY")


@cache
def _own_words() -> tuple[str, ...]:
    """Words that names begin with: those of the pools' names that are not general, and surnames of English origin."""
    found = {
        word
        for pool in ("hospitals", "organizations")
        for entry in lexicons.pool(pool)
        for word in re.findall(r"[A-Z][a-z]{3,}", entry.text)
        if word.lower() not in GENERAL | SAINTLY
    }
    found |= {entry.text for entry in lexicons.pool("last") if entry.origin == "anglo" and entry.text.isalpha()}
    return tuple(sorted(found))


@lru_cache(maxsize=1 << 13)
def _general(word: str, follows: str) -> bool:
    """Whether a word, in lower case, says what the place is; "High" does in "High School" only."""
    if word in GENERAL or word in SAINTLY or (word == "high" and follows.startswith("school")):
        return True
    row = lexicons.words().get(word)
    kinds = row.kinds & (_SAYING if row.clinical >= _OFTEN else Kind.DEPARTMENT)
    return bool(kinds) and row.name < 2000 and len(word) > 3 and word not in _KINDRED_OF and word not in _LAND_OF


_SAYING = Kind.HOSPITAL_WORD | Kind.ORGANIZATION_WORD | Kind.DEPARTMENT | Kind.MEDICAL | Kind.DISEASE
_OFTEN = 20  # uses in a million words of reports


def _own(word: str, draw: Draw, pool: Sequence[str], avoid: frozenset[str]) -> str:
    """Another word, of another initial, so that acronyms change with their names."""
    normal = _shapes.fold(word)
    place = draw.below(len(pool), "organization", normal)
    for step in range(len(pool)):
        new = pool[(place + step) % len(pool)]
        folded = _shapes.fold(new)
        if folded[0] != normal[:1] and not any(old in folded or folded in old for old in avoid):
            return new
    return _shapes.babble(draw, "organization", normal, max(len(normal), 4)).capitalize()


def _named(text: str, label: Label, draw: Draw) -> str:
    tokens: list[str] = _TOKEN.findall(text)
    own = {
        place
        for place, token in enumerate(tokens)
        if token[0].isalpha() and len(token) > 1 and not _stays(tokens, place, label)
    }
    avoid = frozenset(folded for place in own if len(folded := _shapes.fold(tokens[place])) > 2)
    made = list(tokens)
    holy = begun = False
    for place, token in enumerate(tokens):
        if token[0].isnumeric():
            made[place] = _shapes.scrambled(token, draw, label.value)
            if made[place].isdecimal() and tokens[place + 1 : place + 2] and tokens[place + 1].lower() in _ORDINAL:
                tokens[place + 1] = _shapes.like(tokens[place + 1], places.ordinal_suffix(int(made[place])))
                made[place + 1] = tokens[place + 1]
        elif not token[0].isalpha():
            continue
        elif place in own:
            if _is_written_acronym(token, text, label):
                made[place] = _shapes.scrambled(token, draw, "acronym", _shapes.fold(token))
            else:
                pool = _SAINTS if holy else _pool_of(token.lower(), begun=begun)
                made[place] = _shapes.like(token, _own(token, draw, pool, avoid))
            begun = True
        elif len(token) == 1 and (label is Label.ROOM or _is_initial(tokens, place)):
            made[place] = _shapes.scrambled(token, draw, label.value)
        saintly = token.lower() in SAINTLY and not (place and tokens[place - 1][0].isnumeric())
        holy = saintly or (holy and not token[0].isalpha())
    new = "".join(made)
    return new if new != text else _whole(text, label, draw)


_ORDINAL = frozenset(_shapes.listed("st nd rd th"))


def _stays(tokens: Sequence[str], place: int, label: Label) -> bool:
    word = tokens[place].lower()
    if word in _ORDINAL and place and tokens[place - 1][0].isnumeric():
        return True
    if word == "high" and label is Label.ORGANIZATION and place > 1 and place == len(tokens) - 1:
        return True  # "Hurley High"
    return _general(word, "".join(tokens[place + 2 : place + 3]).lower())


def _is_written_acronym(token: str, text: str, label: Label) -> bool:
    """Whether a word is to be changed letter for letter: "IBEW" in "IBEW Local 948"."""
    if label is Label.ROOM:
        return len(token) <= 4 and token[1:].isupper()
    if not token.isupper():
        return False
    return _is_acronym(token) if not text.isupper() else len(token) < 7 and not set(token) & set("AEIOUY")


def _is_initial(tokens: Sequence[str], place: int) -> bool:
    """Whether a single letter begins a name: "A.D. Makepeace"."""
    return place < 3 and tokens[place + 1 : place + 2] == ["."] and not all(len(token) == 1 for token in tokens)


def _pool_of(word: str, *, begun: bool) -> Sequence[str]:
    """What a word of a name is drawn from; words of the land only where they do not begin the name."""
    return _KINDRED_OF.get(word) or (_LAND_OF.get(word) if begun else None) or _own_words()


_LETTER = re.compile(r"(?<![\w.'’])[A-Z](?![\w.'’])")


def _whole(text: str, label: Label, draw: Draw) -> str:
    """A name of general words only ("Children's Hospital", "Cardiology") becomes another."""
    normal = _shapes.fold(text)
    if label is Label.ROOM:
        return _shapes.scrambled(text, draw, label.value)
    if _LETTER.search(text):  # "ICU Tower C"
        return _LETTER.sub(lambda letter: _shapes.scrambled(letter[0], draw, label.value), text)
    if label is Label.DEPARTMENT:
        pool: Sequence[str] = _DEPARTMENTS
    else:
        pool = _names("hospitals" if label is Label.HOSPITAL else "organizations")
    return _shapes.wrapped(text, _shapes.like(text, _shapes.unlike(draw, label.value, normal, pool)))


@cache
def _names(pool: str) -> tuple[str, ...]:
    return tuple(entry.text for entry in lexicons.pool(pool))
