"""Makes sentinels: values that nobody else has, remembered as they are planted."""


class Plant:
    def __init__(self) -> None:
        self.count = 0
        self.planted: list[str] = []

    def word(self) -> str:
        """A name that no list has."""
        self.count += 1
        letters = "".join("abcdefghijklmnopqrstuvwxyz"[int(digit)] for digit in f"{self.count:04d}")
        return self.kept(f"Zeb{letters}quist")

    def number(self) -> str:
        """Nine digits."""
        self.count += 1
        return self.kept(f"7{self.count:04d}3519")

    def day(self) -> str:
        """A date of its own, as 1961-02-02."""
        self.count += 1
        return self.kept(f"{1961 + self.count % 30}-{1 + self.count % 12:02d}-{1 + self.count % 28:02d}")

    def uuid(self) -> str:
        self.count += 1
        return self.kept(f"7{self.count:07d}-5a5a-4b4b-8c8c-{self.count:04d}deadbeef")

    def kept(self, value: str) -> str:
        self.planted.append(value)
        return value
