"""Telephones, fax, e-mail, web and network addresses: the form stays, and nothing leads to anybody.

A telephone number's area code goes with the drawn state, the same for all numbers that had the same one; its last
seven digits stand for themselves, so that "555-0182" agrees with "(303) 555-0182". Mail and web addresses lead to
domains that are reserved for examples (RFC 2606), network addresses to the ranges for documentation (RFC 5737, 3849).
"""

import re
from collections.abc import Mapping
from functools import cache

from deident.labels import Label
from deident.surrogates import _shapes, names, places
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.PHONE, Label.FAX, Label.EMAIL, Label.URL, Label.IPADDR})

_TOLL_FREE = ("800", "833", "844", "855", "866", "877", "888")
_KEPT = re.compile(
    r"\b(?:ext(?:ension)?|x|tel(?:ephone)?|phone|ph|fax|cell|mobile|home|work|office|pager|pgr|beeper|bpr|no|number"
    r"|voice ?mail|direct|main|line|or|and|to|at|call|page|option|opt|press|desk|toll|free|area|code|local|after"
    r"|hours?|day|night|days|nights|nurse|clinic|front|then|wk|hm|mob|the|for|of|in|on|ask|dial|text|only|message)"
    r"(?=[\s.:#),;]|\d|$)",
    re.IGNORECASE,
)
_KNOWN_WORDS = frozenset(
    _shapes.listed(
        "http https ftp ftps www html htm php asp aspx jsp pdf jpg png com org net edu gov id index portal login page "
        "patient patients search user users doc docs file files api"
    )
)
_EXAMPLES = ("com", "net", "org")


notice = names.notice


def surrogate(mention: Mention, draw: Draw, context: names.Context, options: Options) -> str:
    match mention.label:
        case Label.EMAIL:
            return _email(mention.text, draw, context, options)
        case Label.URL:
            return _url(mention.text, draw, context, options)
        case Label.IPADDR:
            return _address(mention.text, draw)
        case _:
            return _phone(mention.text, draw, options)


# -- telephones --------------------------------------------------------------------------------------------------------


# The area codes of each state (North American Numbering Plan, 2024).
_AREA_CODES = """
    AL 205 251 256 334 659 938 | AK 907 | AZ 480 520 602 623 928 | AR 327 479 501 870 | CA 209 213 279 310 323
    341 350 408 415 424 442 510 530 559 562 619 626 628 650 657 661 669 707 714 747 760 805 818 820 831 840 858
    909 916 925 949 951 | CO 303 719 720 970 983 | CT 203 475 860 959 | DE 302 | DC 202 771 | FL 239 305 321 324
    352 386 407 448 561 645 656 689 727 728 754 772 786 813 850 863 904 941 954 | GA 229 404 470 478 678 706 762
    770 912 943 | HI 808 | ID 208 986 | IL 217 224 309 312 331 447 464 618 630 708 730 773 779 815 847 861 872
    | IN 219 260 317 463 574 765 812 930 | IA 319 515 563 641 712 | KS 316 620 785 913 | KY 270 364 502 606 859
    | LA 225 318 337 504 985 | ME 207 | MD 227 240 301 410 443 667 | MA 339 351 413 508 617 774 781 857 978 | MI
    231 248 269 313 517 586 616 679 734 810 906 947 989 | MN 218 320 507 612 651 763 952 | MS 228 601 662 769
    | MO 235 314 417 557 573 636 660 816 975 | MT 406 | NE 308 402 531 | NV 702 725 775 | NH 603 | NJ 201 551
    609 640 732 848 856 862 908 973 | NM 505 575 | NY 212 315 332 347 363 516 518 585 607 624 631 646 680 716
    718 838 845 914 917 929 934 | NC 252 336 472 704 743 828 910 919 980 984 | ND 701 | OH 216 220 234 283 326
    330 380 419 440 513 567 614 740 937 | OK 405 539 572 580 918 | OR 458 503 541 971 | PA 215 223 267 272 412
    445 484 570 582 610 717 724 814 835 878 | RI 401 | SC 803 821 839 843 854 864 | SD 605 | TN 423 615 629 731
    865 901 931 | TX 210 214 254 281 325 346 361 409 430 432 469 512 682 713 726 737 806 817 830 832 903 915 936
    940 945 956 972 979 | UT 385 435 801 | VT 802 | VA 276 434 540 571 686 703 757 804 826 948 | WA 206 253 360
    425 509 564 | WV 304 681 | WI 262 274 353 414 534 608 715 920 | WY 307
"""


@cache
def _areas() -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    """Area code → state, and state → its area codes."""
    rows = [row.split() for row in _AREA_CODES.split("|")]
    return {code: state for state, *codes in rows for code in codes}, {state: tuple(codes) for state, *codes in rows}


def _area(old: str, draw: Draw, options: Options) -> str:
    if old in _TOLL_FREE:
        return draw.choice([code for code in _TOLL_FREE if code != old], "area", old)
    states, areas = _areas()
    state = places.drawn_state(draw, states.get(old, old), same_state=options.same_state)
    others = [code for code in areas.get(state, ()) if code != old]
    return draw.choice(others or [code for code in states if code != old], "area", old)


def _local(old: str, draw: Draw) -> str:
    """The last seven digits: 555, an exchange that is given to nobody, and four that are not the old ones."""
    for attempt in range(64):
        last = f"{draw.number('phone', f'{old}{chr(0)}{attempt}') % 10**4:04d}"
        if last != old[3:] and last not in ("1212", "4334"):
            return "555" + last
    raise AssertionError("64 draws of one telephone number were equal")


def _phone(text: str, draw: Draw, options: Options) -> str:
    text = _shapes.digits_read(text)
    places_of = [place for place, char in enumerate(text) if char.isdecimal()]
    digits = "".join(text[place] for place in places_of)
    if not digits.isascii():
        return _shapes.scrambled(text, draw, "phone")
    extension = re.search(r"(?:x|ext|extension|option|opt|#)[.:\s]*\d{1,6}\D*$", text, re.IGNORECASE)
    size = sum(char.isdecimal() for char in text[: extension.start()]) if extension else len(digits)
    lead, rest = (digits[:1], digits[1:size]) if size == 11 and digits[0] == "1" else ("", digits[:size])
    tail = digits[size:]
    if len(rest) == 10 and "+" not in text.replace("+1", ""):
        made = lead + _area(rest[:3], draw, options) + _local(rest[3:], draw)
    elif len(rest) == 7:
        made = lead + _local(rest, draw)
    else:
        code = re.match(r"\s{0,9}(?:\+|(011|00)[\s-])(\d{1,3})(?=[\s.(-])", text)  # the country's code stays
        kept = len(code[1] or "") + len(code[2]) if code else 0
        made = digits[:kept] + _shapes.scrambled(digits[kept:size], draw, "phone", digits[:size])
        if digits in _TOLL_FREE or digits[1:] in _TOLL_FREE:  # 1-800-FLOWERS
            made = digits[:-3] + _area(digits[-3:], draw, options)
    if tail:
        made += _shapes.scrambled(tail, draw, "extension")
    signs = list(text)
    for place, char in zip(places_of, made, strict=True):
        signs[place] = char
    new = "".join(signs)
    words = [match.span() for match in _KEPT.finditer(new)]
    letters = "".join(
        char if not char.isalpha() or any(start <= place < end for start, end in words) else "\0"
        for place, char in enumerate(new)
    )
    if "\0" in letters:
        drawn = _shapes.scrambled("".join(filter(str.isalpha, new)), draw, "phone", _shapes.fold(text))
        source = iter(drawn)
        new = "".join(
            (fresh if letters[place] == "\0" else char) if char.isalpha() and (fresh := next(source)) else char
            for place, char in enumerate(new)
        )
    return new


# -- mail and web ------------------------------------------------------------------------------------------------------


def _email(text: str, draw: Draw, context: names.Context, options: Options) -> str:
    local, at, host = text.rpartition("@")
    if not at:
        return names.handle(text, draw, context, options)
    return names.handle(local, draw, context, options) + at + _host(host, draw)


def _host(text: str, draw: Draw) -> str:
    """ "mail.ccf.org" → "mail.rofa.example.org"."""
    labels = text.strip(". ").split(".")
    if len(labels) < 2:
        return _shapes.like(text, _shapes.babble(draw, "host", _shapes.fold(text), max(len(text), 3)))
    top = labels[-1].lower() if labels[-1].lower() in _EXAMPLES else "org"
    kept = [label for label in labels[:-2] if label.lower() in ("www", "mail", "portal")]
    site = _shapes.fold("".join(labels[:-1])) or "x"
    word = _shapes.babble(draw, "host", site, min(max(len(labels[-2]), 3), 12))
    return ".".join([*kept, word, "example", top])


_URL = re.compile(
    r"(?P<scheme>[a-zA-Z][\w+.-]*://)?(?P<login>[^/@\s]*@)?(?P<host>[^/:?#\s]+)(?P<port>:\d+)?", re.DOTALL
)


def _url(text: str, draw: Draw, context: names.Context, options: Options) -> str:
    match = _URL.match(text)
    if match is None:
        return _shapes.scrambled(text, draw, "url")
    login = names.handle(match["login"][:-1], draw, context, options) + "@" if match["login"] else ""
    rest = "".join(
        piece if piece.lower() in _KNOWN_WORDS else names.handle(piece, draw, context, options)
        for piece in re.findall(r"[^\W_]+|[\W_]", text[match.end() :])
    )
    return f"{match['scheme'] or ''}{login}{_host(match['host'], draw)}{match['port'] or ''}{rest}"


# -- network -----------------------------------------------------------------------------------------------------------

_RANGES = ("192.0.2", "198.51.100", "203.0.113")
_IPV4 = re.compile(r"(?<!\d)\d{1,3}(?:\.\d{1,3}){3}(?!\d)")
_IPV6 = re.compile(r"(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}")


def _address(text: str, draw: Draw) -> str:
    def four(match: re.Match[str]) -> str:
        number = draw.number("ip", match[0])
        new = f"{_RANGES[number % 3]}.{(number >> 8) % 254 + 1}"
        return new if new != match[0] else f"{_RANGES[number % 3]}.{(number >> 8) % 254 + 2}"

    def six(match: re.Match[str]) -> str:
        number = draw.number("ip", match[0].lower())
        return f"2001:db8::{number & 0xFFFF:x}:{(number >> 16 & 0xFFFF) or 1:x}"

    pattern, rewrite = (_IPV4, four) if _IPV4.search(text) else (_IPV6, six)
    new = pattern.sub(rewrite, text)
    return new if new != text else _shapes.scrambled(text, draw, "ip")
