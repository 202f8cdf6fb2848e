import t from 'tap'
import { leaveOutFiles } from '../../../src/core/hooks/files-left-out.ts'
import { partsIn } from '../../../src/core/hooks/multipart.ts'

const TYPE = 'multipart/form-data; boundary=X'
const part = (headers: string, value: string, end = '\r\n') => `--X${end}${headers}${end}${end}${value}${end}`
const FILE = 'content-disposition: form-data; name="cv"; filename="cv.pdf"'
const FIELD = 'Content-Disposition: form-data; name="email"'
const LARGE = '%PDF \r\n-\n--Y\r--X \0\xff'.repeat(500)
const FORMS: Readonly<Record<string, string>> = {
  'fields and files': `${part(FIELD, 'ada@example.com')}${part(FILE, LARGE)}${part(FIELD, '')}${part(FILE, 'x')}--X--\r\n`,
  'an empty file': `${part(FILE, '')}${part(FIELD, 'a')}--X--`,
  'a file without a line end before the delimiter': `--X\r\n${FILE}\r\n\r\n--X\r\n${FIELD}\r\n\r\na\r\n--X--`,
  'line ends without CR': `preamble\n${part(FILE, LARGE, '\n')}${part(FIELD, 'a', '\n')}--X--\nepilogue`,
  'files that end in line ends': ['\r', '\n', '\r\n', '\r\r', '\n\r']
    .map((end) => part(FILE, `a${end}`))
    .join('')
    .concat('--X--'),
  'a file whose name is encoded': `${part(`${FIELD}; filename*=UTF-8''a%20b.txt\r\nContent-Type: text/plain`, LARGE)}--X--`,
  'no end': part(FILE, LARGE),
  'no delimiter': LARGE,
  'a part without a name': `${part('x: y', LARGE)}--X--`,
  'headers that are too long': `${part(`${FILE}\r\nx: ${'y'.repeat(20_000)}`, 'a')}--X--`,
  'what follows the end': `${part(FIELD, 'a')}--X--${part(FILE, LARGE)}`,
}

t.test('a form without its files has the same parts, and the sizes of the files', async (t) => {
  for (const [what, form] of Object.entries(FORMS)) {
    const body = Buffer.from(form, 'latin1')
    for (const size of [1, 2, 3, 7, 64, 1_000, 1e6]) {
      const files = leaveOutFiles(TYPE)
      if (files === null) throw new Error('it has a boundary')
      const kept: Buffer[] = []
      for (let at = 0; at < body.length; at += size) kept.push(files.keep(body.subarray(at, at + size)))
      const whole = Buffer.concat([...kept, files.end()])
      t.strictSame(partsIn(whole, TYPE, files.fileBytes), partsIn(body, TYPE), `${what}, ${size} at a time`)
    }
  }
})

t.test('what is in files is not kept, and what is in fields is', async (t) => {
  const files = leaveOutFiles(TYPE)
  const body = Buffer.from(`${part(FIELD, 'ada')}${part(FILE, 'secret'.repeat(99))}--X--`)
  const kept = Buffer.concat([files?.keep(body) ?? body, files?.end() ?? body]).toString()
  t.match(kept, /name="email"\r\n\r\nada\r\n--X/)
  t.notMatch(kept, /secret/)
  t.strictSame(files?.fileBytes, [594])
})

t.test('a body that is no form in spite of its type is kept byte for byte', async (t) => {
  for (const text of [
    '',
    '{"email":"ada@example.com"}',
    '\n',
    `\n${part(FIELD, 'a')}--X--`,
    part(FIELD, 'a'),
  ])
    for (const size of [1, 1_000]) {
      const files = leaveOutFiles(TYPE)
      if (files === null) throw new Error('it has a boundary')
      const body = Buffer.from(text)
      const kept: Buffer[] = []
      for (let at = 0; at < body.length; at += size) kept.push(files.keep(body.subarray(at, at + size)))
      t.equal(Buffer.concat([...kept, files.end()]).toString(), text)
    }
})

t.test('a body of another type, or without a boundary, is kept as a whole', async (t) => {
  for (const type of [
    '',
    'application/json',
    'multipart/mixed; boundary=X',
    'multipart/form-data',
    `multipart/form-data; boundary=${'x'.repeat(201)}`,
  ])
    t.equal(leaveOutFiles(type), null)
})
