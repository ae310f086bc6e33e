"""browser: drives headless Chromium over a pipe: mouse, keys, expressions, screenshots."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import guard  # noqa: E402

LIMIT_S = 60  # in which all processes of the test sleep: a busy machine may be slow
KEYS = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'Home': 36, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40}


HOSTILE = b'</script>"\'\x07&'  # as long as a name that the small traces have


def hostile_copy(trace, copy):
    """The same trace at @copy, with other names of threads."""
    shutil.copytree(trace, copy, copy_function=shutil.copyfile)
    for name in os.listdir(copy):
        path = os.path.join(copy, name)
        if name != 'metadata' and os.path.isfile(path):
            os.chmod(path, 0o644)
            with open(path, 'rb') as file:
                data = file.read()
            with open(path, 'wb') as file:
                file.write(data.replace(b'kernel-record\0', HOSTILE + b'\0'))
    return copy


def program():
    return shutil.which('chromium') or shutil.which('chromium-browser')


class Browser:
    """One page, in a process of its own.  `said`: errors and what scripts wrote on the console."""

    def __init__(self, width=1280, height=800):
        self.scratch = tempfile.mkdtemp(prefix='sillage-browser-')
        self.number, self.rest, self.said, self.arrived = 0, b'', [], []
        self.asleep = guard.Asleep(period_s=0.2)
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()
        # Above the two numbers that the browser expects.
        high_in, high_out = fcntl.fcntl(theirs_in, fcntl.F_DUPFD, 10), fcntl.fcntl(theirs_out, fcntl.F_DUPFD, 10)
        self.process = subprocess.Popen(
            ['bash', '-c', 'exec 3<&%d 4>&%d; exec "$@"' % (high_in, high_out), 'bash', program(), '--headless=new',
             '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--hide-scrollbars',
             '--disable-component-update', '--disable-sync', '--remote-debugging-pipe', '--force-device-scale-factor=1',
             '--window-size=%d,%d' % (width, height), '--user-data-dir=' + self.scratch, 'about:blank'],
            pass_fds=(high_in, high_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (theirs_in, theirs_out, high_in, high_out):
            os.close(fd)
        self.session = None
        pages = [one for one in self.call('Target.getTargets')['targetInfos'] if one['type'] == 'page']
        self.session = self.call('Target.attachToTarget', targetId=pages[0]['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log'):
            self.call(domain + '.enable')
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.asleep.stop()
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def read(self, until):
        while b'\0' not in self.rest:
            while not select.select([self.into], [], [], 0.5)[0]:
                assert self.asleep.now() < until, 'the browser does not answer'
            more = os.read(self.into, 1 << 20)
            assert more, 'the browser has ended'
            self.rest += more
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.out, data):]
        until = self.asleep.now() + LIMIT_S
        while True:
            answer = self.read(until)
            if answer.get('id') == self.number:
                assert 'error' not in answer, (method, answer['error'])
                return answer['result']
            if answer.get('method') in ('Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'):
                self.said.append(json.dumps(answer['params'])[:1000])
            self.arrived.append(answer.get('method'))

    def evaluate(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in answer, (expression, answer['exceptionDetails'])
        return answer['result'].get('value')

    def resize(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, name, **features):
        self.call('Emulation.setEmulatedMedia', media=name,
                  features=[{'name': key.replace('_', '-'), 'value': value} for key, value in features.items()])
        self.frame()

    def frame(self):
        """Waits until what is there is drawn."""
        self.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def open(self, page):
        """Seconds until the page was ready."""
        begin, until = time.monotonic(), self.asleep.now() + LIMIT_S
        self.call('Page.navigate', url='file://' + page)
        while not self.evaluate('document.body && document.body.dataset.state === "ready" && document.readyState === "complete"'):
            assert self.asleep.now() < until, 'it did not come to its end: %s' % self.said
            time.sleep(0.05)
        self.frame()
        return time.monotonic() - begin

    def click(self, x, y):
        for kind in ('mouseMoved', 'mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='none' if kind == 'mouseMoved' else 'left', clickCount=1)

    def move(self, x, y):
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)

    def wheel(self, x, y, aside=0, down=0, ctrl=False):
        self.call('Input.dispatchMouseEvent', type='mouseWheel', x=x, y=y, deltaX=aside, deltaY=down, modifiers=2 if ctrl else 0)
        self.frame()

    def place(self, expression):
        """Where an element is, after it was brought into view."""
        return self.evaluate('((it) => { it.scrollIntoView({ block: "center" }); const at = it.getBoundingClientRect(); '
                             'return [at.left, at.top, at.width, at.height]; })(%s)' % expression)

    def click_on(self, expression):
        left, top, width, height = self.place(expression)
        self.click(left + width / 2, top + height / 2)

    def press(self, key):
        text = {} if key in KEYS and key != 'Enter' else {'text': '\r' if key == 'Enter' else key}
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, windowsVirtualKeyCode=KEYS.get(key, ord(key[0])), **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=KEYS.get(key, ord(key[0])))

    def type(self, text):
        for letter in text:
            self.press(letter)

    def picture(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))
