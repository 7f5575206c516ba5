"""The ARN of an SNS topic: which region and which of AWS's domains it belongs to."""

import re
from dataclasses import dataclass
from functools import lru_cache

# Bounded: the region becomes a part of a host name.
_ARN = re.compile(
    r"arn:(?P<partition>aws|aws-cn|aws-us-gov):sns"
    r":(?P<region>[a-z]{2,4}(?:-[a-z]{1,12}){1,3}-[0-9]{1,2})"
    r":(?P<owner>[0-9]{12}):(?P<name>[A-Za-z0-9_-]{1,256})",
    re.ASCII,
)
_CHINA = "aws-cn"


@dataclass(frozen=True, slots=True)
class TopicArn:
    region: str
    domain: str  # of AWS's services in the topic's part of the world

    @property
    def sns_origin(self) -> str:
        return f"https://sns.{self.region}.{self.domain}"

    @property
    def signers(self) -> frozenset[str]:
        """The names that the certificates of its messages may have."""
        hosts = (f"sns.{self.region}.{self.domain}", f"sns.{self.domain}", "sns.amazonaws.com")
        return frozenset(hosts)

    @property
    def sqs_origin(self) -> str:
        return f"https://sqs.{self.region}.{self.domain}"


@lru_cache(maxsize=64)
def parse_topic_arn(text: str) -> TopicArn | None:
    """None if it is not the ARN of a standard topic; SES publishes to no other kind."""
    match = _ARN.fullmatch(text)
    is_chinese = match is not None and match["partition"] == _CHINA
    if match is None or is_chinese != match["region"].startswith("cn-"):
        return None
    return TopicArn(match["region"], "amazonaws.com.cn" if is_chinese else "amazonaws.com")
