#!/usr/bin/env python3
"""embed: write a file as a C array.  usage: embed.py INPUT NAME HEADER OUTPUT

HEADER is the path of the one that declares it, as files include it.  A line "@FILE name@" stands for
the file of that name beside INPUT.
"""
import os
import re
import sys


def content(found):
    with open(os.path.join(os.path.dirname(sys.argv[1]), found.group(1).decode()), 'rb') as file:
        return file.read()


with open(sys.argv[1], 'rb') as file:
    data = re.sub(rb'@FILE (.*)@\n', content, file.read()) + b'\0'
with open(sys.argv[4], 'w') as out:
    out.write('/* Made by embed.py. */\n#include "%s"\n\nconst unsigned char %s[] = {\n' % (sys.argv[3], sys.argv[2]))
    for i in range(0, len(data), 20):
        out.write('\t%s,\n' % ', '.join(str(byte) for byte in data[i:i + 20]))
    out.write('};\n')
