"""Templates that want something: what they say is refused, or stays the text that it is."""

# Words that have opened other engines: Jinja, Twig, Django, ERB, FreeMarker, Velocity, Handlebars,
# Sprig, lodash, Smarty, Mako, Tornado, Thymeleaf.
_EXPRESSIONS = """
7*7
''.__class__
''.__class__.__mro__[1].__subclasses__()
{}.__class__.__init__.__globals__
name.__class__
name.__init__.__globals__
name.format
name.join
name["__class__"]["__mro__"]
name[0].__class__
order.__dict__
order.keys
order['__getitem__']
order.total.bit_length
items.__class__
items[0].__class__
self
self._TemplateReference__context
config
config.SECRET_KEY
settings.SECRET_KEY
request
request.application.__globals__
request.environ
cycler.__init__.__globals__.os.popen('id').read()
namespace.__init__.__globals__
lipsum.__globals__['os']
url_for.__globals__
env "SECRET_KEY"
getHostByName "localhost"
_self.env.registerUndefinedFilterCallback('exec')
app.request.server.all|join(',')
dump(app)
['id']|map('system')|join
"%s"|format(name)
''|attr('__class__')
name|map('system')
items|map(attribute='__class__')
name|safe
name|e
name|pprint
name|debug
contact.tenant.api_keys
workspace.api_keys
sender.password
forloop.parentloop
forloop.__class__
environment
globals()
open('/etc/passwd').read()
__import__('os').system('id')
eval('1')
<%= system('id') %>
${7*7}
@(7*7)
<#assign x="freemarker.template.utility.Execute"?new()>${x("id")}
{php}echo 1{/php}
{{#with "s" as |string|}}{{/with}}
{{=<% %>=}}
{{> partial}}
now
'now' | date: '%N%N%N'
name | date: '%999999999Y'
1 | divided_by: 0
name | slice: 0, 99999999999999999999
name | truncate: 99999999999999999999
name | split: '' | size
name | escapejs
name | strip_html
name | nosuchfilter
name | default: config
name | append: self
name | where: '__class__'
items | map: '__class__'
items | sort: '__class__'
items | group_by: '__class__'
items | find: '__class__', 'x'
order | map: '__class__'
name.size.__class__
a.b.c.d.e.f.g.h
[name]
['__class__']
name[name[name]]
0[0]
nil.__class__
(1..3).__class__
1.5.real
""".strip().splitlines()

_TAGS = """
{% debug %}
{% load static %}
{% include "/etc/passwd" %}
{% render "/etc/passwd" %}
{% import "os" as os %}
{% call x() %}{% endcall %}
{% python %}import os{% endpython %}
{% url 'admin:index' %}
{% ssi /etc/passwd %}
{% liquid assign x = 1 %}
{% with x: 1 %}{% endwith %}
{% section 'x' %}
{% break %}
{% if %}x{% endif %}
{% for x in %}x{% endfor %}
{% assign %}
{% assign __class__ = 1 %}{{ name.__class__ }}
{% capture __class__ %}x{% endcapture %}{{ name.__class__ }}
{% for x in name %}{{ x.__class__ }}{% endfor %}
{% for x in items reversed limit:1 offset:99999999999999999999 %}x{% endfor %}
{% tablerow x in items cols:0 %}x{% endtablerow %}
{% cycle name, name.__class__ %}
{% increment name %}{{ name }}
{% decrement __class__ %}
{% echo name.__class__ %}
{% ifchanged %}{{ name.__class__ }}{% endifchanged %}
{% case name.__class__ %}{% when nil %}x{% endcase %}
{% unless name.__class__ %}x{% endunless %}
{% raw %}{{ name.__class__ }}
{% # x
{{ name
{% if name
{{ name }
{{{{{{{{{{
{% endif %}
{%- -%}
{{}}
""".strip().splitlines()

# Each runs into another limit, or would be read for long.
_BOMBS = [
    "{% for a in (1..1000000000) %}x{% endfor %}",
    "{% for a in (1..9999) %}{% for b in (1..9999) %}{% endfor %}{% endfor %}",
    "{% for a in (1..9000) %}" + "{% if 1 == 2 %}{% endif %}" * 900 + "{% endfor %}",
    "{% for a in (-1000000000..1000000000) reversed %}{{ a }}{% endfor %}",
    "{% for a in (1..1000000000) offset:999999990 %}x{% endfor %}",
    "{% tablerow a in (1..1000000000) cols:1 reversed %}x{% endtablerow %}",
    "{% assign a = 'x' %}{% for i in (1..64) %}{% assign a = a | append: a %}{% endfor %}{{ a }}",
    "{% assign a = 9 %}{% for i in (1..64) %}{% assign a = a | times: a %}{% endfor %}{{ a }}",
    "{% capture a %}x{% endcapture %}"
    + "{% capture a %}{{ a }}{{ a }}{% endcapture %}" * 64
    + "{{ a }}",
    "{{ 'x'" + " | replace: 'x', 'xxxxxxxxxxxxxxxx'" * 12 + " }}",
    "{{ (1..1000000000) | sort }}",
    "{{ (1..60000) | concat: (1..60000) }}",
    "{% assign a = (1..60000) | join: 'x' %}" + "{{ a }}" * 100,
    "{{ '%' | url_encode" + " | url_encode" * 300 + " }}",
    "{% if " + "a and " * 20_000 + "a %}x{% endif %}",
    "{% if true %}" * 900 + "x" + "{% endif %}" * 900,
    "{% for i in (1..2) %}" * 29 + "x" + "{% endfor %}" * 29,
    "{{ a" + ".b" * 50_000 + " }}",
    "{{ a" + "[a" * 1_000 + "]" * 1_000 + " }}",
    "{{ '" + "x" * 500_000 + "' }}",
    "{% raw %}" * 2_000 + "x" * 400_000,
    "{% comment %}" * 1_000 + "x" * 400_000,
    "{{" * 200_000,
    "{%" * 200_000,
    "{{ a }}" * 70_000,
    "{% cycle 'a', 'b' %}" * 1_999,
    "{% " + " " * 500_000 + " %}",
    "{% raw" + " " * 500_000 + "%}",
    "x" * 1_048_577,
]

TEMPLATES = [
    *(
        expression if "{" in expression else f"{{{{ {expression} }}}}"
        for expression in _EXPRESSIONS
    ),
    *_TAGS,
    *_BOMBS,
]
