import t from 'tap'
import { refusingWorkbooks } from '../../src/maintenance/workbooks.ts'

const read = async (bytes: Buffer, size = 1_000): Promise<Buffer> => {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const read: Buffer[] = []
  for await (const chunk of refusingWorkbooks(chunks())) read.push(chunk)
  return Buffer.concat(read)
}
/** The beginning of a ZIP archive: its first file, stored without compression. */
const zip = (name: string, content = ''): Buffer => {
  const header = Buffer.alloc(30)
  header.write('PK\x03\x04', 'latin1')
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, Buffer.from(name + content), Buffer.alloc(500)])
}
const ODS = 'application/vnd.oasis.opendocument.spreadsheet'
const EXCEL = 'This is an Excel workbook. Save it as CSV UTF-8.'

const REFUSED: readonly (readonly [file: string, bytes: Buffer, message: string])[] = [
  ['an .xlsx of Excel', zip('[Content_Types].xml'), EXCEL],
  ['an .xlsx of another program', zip('xl/workbook.xml'), EXCEL],
  ['an .xlsx that is cut off', Buffer.from('PK\x03\x04'), EXCEL],
  ['an .xls', Buffer.from('d0cf11e0a1b11ae10000', 'hex'), EXCEL],
  ['an .ods', zip('mimetype', ODS), 'This is an OpenDocument spreadsheet. Save it as CSV UTF-8.'],
  ['a packed .csv', zip('people.CSV', 'email\n'), 'This is a ZIP archive. Unpack it first.'],
  ['a .gz', Buffer.from('1f8b0800', 'hex'), 'This is a gzip archive. Unpack it first.'],
]
for (const [file, bytes, message] of REFUSED)
  t.test(`${file} is refused by what it is`, async (t) => {
    for (const size of [1, 7, 1_000]) await t.rejects(read(bytes, size), { kind: 'invalid_request', message })
  })

t.test('a file of text passes unchanged', async (t) => {
  const texts = ['', 'PK', 'PK,email\n1,ada@x\n', '{"a":1}\n', 'email\n'.repeat(100), '\ufeffemail\n']
  for (const text of texts)
    for (const size of [1, 7, 1_000]) t.equal(String(await read(Buffer.from(text), size)), text)
})
