"""Templates that want something: what they say is refused, or stays the text that it is."""

# Words that have opened other engines: Jinja, Twig, Django, ERB, FreeMarker, Velocity, Handlebars,
# Sprig, lodash, Smarty, Mako, Tornado, Thymeleaf.
_EXPRESSIONS = """
7*7
7 * 7
''.__class__
''.__class__.__mro__
''.__class__.__mro__[1].__subclasses__()
"".__class__.__base__
().__class__.__bases__[0]
[].__class__
{}.__class__.__init__.__globals__
name.__class__
name.__class__.__mro__
name.__init__.__globals__
name.format
name.join
name['__class__']
name["__class__"]["__mro__"]
name[0].__class__
order.__class__
order.__dict__
order.items
order.keys
order.get
order['__getitem__']
order.total.__class__
order.total.real
order.total.bit_length
items.__class__
items.append
items[0].__class__
items.__len__
self
self.__init__
self._TemplateReference__context
config
config.items()
config.SECRET_KEY
settings.SECRET_KEY
settings.DATABASES
request
request.application.__globals__
request.environ
cycler.__init__.__globals__
cycler.__init__.__globals__.os.popen('id').read()
joiner.__init__.__globals__
namespace.__init__.__globals__
lipsum.__globals__
lipsum.__globals__['os']
url_for.__globals__
get_flashed_messages.__globals__
env "HOME"
env "SECRET_KEY"
expandenv "$HOME"
getHostByName "localhost"
_self.env
_self.env.registerUndefinedFilterCallback('exec')
_self.env.getFilter('id')
app.request.server.all|join(',')
dump(app)
['id']|filter('system')
['id']|map('system')|join
"%s"|format(name)
''|attr('format')
''|attr('__class__')
name|attr("__class__")
name|map('system')
items|map(attribute='__class__')
name|safe
name|raw
name|unsafe
name|e
name|tojson
name|pprint
name|xmlattr
name|debug
contact.tenant.api_keys
contact.workspace.secret
workspace.api_keys
sender.password
forloop.parentloop
forloop.__class__
template
template.name
environment
globals()
locals()
open('/etc/passwd').read()
import os
__import__('os').system('id')
eval('1')
exec('1')
<%= 7*7 %>
<%= system('id') %>
${7*7}
#{7*7}
*{7*7}
@(7*7)
<#assign x="freemarker.template.utility.Execute"?new()>${x("id")}
#set($x=7*7)$x
{php}echo 1{/php}
{{#with "s" as |string|}}{{/with}}
{{{name}}}
{{=<% %>=}}
{{> partial}}
{{&name}}
now
today
'now' | date: '%s'
'now' | date: '%N%N%N'
name | date: '%999999999Y'
1 | divided_by: 0
1 | modulo: 0
name | slice: 0, 99999999999999999999
name | truncate: 99999999999999999999
name | truncatewords: -1
name | split: '' | size
name | url_decode
name | base64_decode
name | escapejs
name | strip_html
name | nosuchfilter
name | default: config
name | append: self
name | where: '__class__'
items | map: '__class__'
items | map: '__dict__' | first
items | sort: '__class__'
items | group_by: '__class__'
items | sum: '__class__'
items | find: '__class__', 'x'
order | map: '__class__'
order | first
order | size
name.size.__class__
name.first
name.last
items.first.__class__
items.size
a.b.c.d.e.f.g.h
[name]
["name"]
['__class__']
[['name']]
name[name[name]]
0[0]
nil.__class__
true.__class__
blank.__class__
empty.__class__
(1..3).__class__
1.__class__
1.5.real
""".strip().splitlines()

_TAGS = """
{% debug %}
{% load static %}
{% include "/etc/passwd" %}
{% include '../../../etc/passwd' %}
{% include name %}
{% render "/etc/passwd" %}
{% render name %}
{% extends "/etc/passwd" %}
{% import "os" as os %}
{% from "os" import system %}
{% set x = 1 %}
{% do 1 %}
{% call x() %}{% endcall %}
{% macro x() %}{% endmacro %}
{% block x %}{% endblock %}
{% python %}import os{% endpython %}
{% php %}echo 1;{% endphp %}
{% csrf_token %}
{% url 'admin:index' %}
{% ssi /etc/passwd %}
{% now "Y" %}
{% liquid assign x = 1 %}
{% translate %}{% endtranslate %}
{% with x: 1 %}{% endwith %}
{% layout 'x' %}
{% section 'x' %}
{% break %}
{% continue %}
{% if %}x{% endif %}
{% for %}x{% endfor %}
{% for x in %}x{% endfor %}
{% assign %}
{% assign __class__ = 1 %}{{ name.__class__ }}
{% capture __class__ %}x{% endcapture %}{{ name.__class__ }}
{% for x in name %}{{ x.__class__ }}{% endfor %}
{% for x in order %}{{ x.__class__ }}{% endfor %}
{% for x in items reversed limit:1 offset:99999999999999999999 %}x{% endfor %}
{% tablerow x in items cols:0 %}x{% endtablerow %}
{% tablerow x in items cols:-1 %}x{% endtablerow %}
{% cycle name, name.__class__ %}
{% increment name %}{{ name }}
{% decrement __class__ %}
{% echo name.__class__ %}
{% ifchanged %}{{ name.__class__ }}{% endifchanged %}
{% case name.__class__ %}{% when nil %}x{% endcase %}
{% unless name.__class__ %}x{% endunless %}
{% raw %}{{ name.__class__ }}
{% comment %}x
{% doc %}x
{% # x
{{ name
{% if name
{{ name }
{% }
{{{{{{{{{{
}}}}}}}}}}
{% endif %}
{% endraw %}
{%- -%}
{{- -}}
{{}}
{%%}
""".strip().splitlines()

_BOMBS = [
    "{% for a in (1..1000000000) %}x{% endfor %}",
    "{% for a in (1..1000) %}" * 3 + "x" + "{% endfor %}" * 3,
    "{% for a in (1..9999) %}{% for b in (1..9999) %}{% endfor %}{% endfor %}",
    "{% for a in (1..9000) %}{% endfor %}" * 900,
    "{% for a in (1..9000) %}" + "{% if 1 == 2 %}{% endif %}" * 900 + "{% endfor %}",
    "{% for a in (-1000000000..1000000000) reversed %}{{ a }}{% endfor %}",
    "{% for a in (1..1000000000) offset:999999990 %}x{% endfor %}",
    "{% tablerow a in (1..1000000000) cols:1 reversed %}x{% endtablerow %}",
    "{% for a in (1..99999999999999999999) %}x{% endfor %}",
    "{% tablerow a in (1..1000000) cols:2 %}x{% endtablerow %}",
    "{% assign a = 'x' %}{% for i in (1..64) %}{% assign a = a | append: a %}{% endfor %}{{ a }}",
    "{% assign a = 9 %}{% for i in (1..64) %}{% assign a = a | times: a %}{% endfor %}{{ a }}",
    "{% capture a %}x{% endcapture %}"
    + "{% capture a %}{{ a }}{{ a }}{% endcapture %}" * 64
    + "{{ a }}",
    "{{ 'x'" + " | replace: 'x', 'xxxxxxxxxxxxxxxx'" * 12 + " }}",
    "{{ 'x'" + " | append: 'xxxxxxxxxxxxxxxx'" * 90 + " }}" * 1,
    "{{ (1..1000000000) | join: 'x' }}",
    "{{ (1..1000000000) | reverse }}",
    "{{ (1..1000000000) | sort }}",
    "{{ (1..1000000000) | size }}",
    "{{ (1..1000000000) | first }}",
    "{{ (1..60000) | concat: (1..60000) }}",
    "{{ 'x' | split: '' | concat: items | join: name }}",
    "{% assign a = (1..60000) | join: 'x' %}" + "{{ a }}" * 100,
    "{% assign a = '<' %}" + "{% assign a = a | append: a %}" * 14 + "{{ a" + "| escape" * 4 + "}}",
    "{{ '%' | url_encode" + " | url_encode" * 300 + " }}",
    "{% if " + "a == b or " * 300 + "a == b %}x{% endif %}",
    "{% if " + "a and " * 20_000 + "a %}x{% endif %}",
    "{% if true %}" * 31 + "x" + "{% endif %}" * 31,
    "{% if true %}" * 900 + "x" + "{% endif %}" * 900,
    "{% for i in (1..2) %}" * 29 + "x" + "{% endfor %}" * 29,
    "{% capture x %}" * 29 + "x" + "{% endcapture %}" * 29,
    "{{ " + "a" * 100_000 + " }}",
    "{{ a" + ".b" * 50_000 + " }}",
    "{{ a" + "[a" * 1_000 + "]" * 1_000 + " }}",
    "{{ '" + "x" * 500_000 + "' }}",
    "{% raw %}" * 2_000 + "x" * 400_000,
    "{% comment %}" * 1_000 + "x" * 400_000,
    "{{" * 200_000,
    "{%" * 200_000,
    "{{ a }}" * 70_000,
    "{% assign a = 1 %}" * 1_999,
    "{% cycle 'a', 'b' %}" * 1_999,
    "{% increment a %}" * 1_999,
    "{% " + " " * 500_000 + " %}",
    "{{" + " " * 500_000 + "}}",
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
