"""The IAM policy that an account needs: to send, and to be checked; pure."""

from collections.abc import Mapping, Sequence

_SEND = ("ses:SendEmail", "ses:SendRawEmail")  # SendEmail with raw content asks for both
_READ = ("ses:GetAccount", "ses:GetEmailIdentity", "ses:GetConfigurationSet")


def write_policy(
    region: str, *, identities: Sequence[str], configuration_set: str
) -> Mapping[str, object]:
    """Without identities or a configuration set, all those of the AWS account may be used."""
    resources = [f"identity/{name}" for name in identities or ("*",)]
    resources.append(f"configuration-set/{configuration_set or '*'}")
    prefix = f"arn:{_partition(region)}:ses:{region}:*"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "Send",
                "Effect": "Allow",
                "Action": list(_SEND),
                "Resource": [f"{prefix}:{resource}" for resource in resources],
            },
            {"Sid": "Check", "Effect": "Allow", "Action": list(_READ), "Resource": "*"},
        ],
    }


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"
