import { refuse } from '../core/engine/failures.ts'
import { withHead } from './csv-bytes.ts'

const SAVE_IT = 'Save it as CSV UTF-8.'
/** Enough for the beginning of a file, and for the type that an OpenDocument file begins with. */
const HEAD_BYTES = 100

/** Yields the bytes of a file of text. Refuses `invalid_request` for a workbook or an archive, by how it begins. */
export async function* refusingWorkbooks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isHead = true
  for await (const bytes of withHead(chunks, ({ length }) => length >= HEAD_BYTES)) {
    const reason = isHead ? whyNoText(bytes.subarray(0, HEAD_BYTES).toString('latin1')) : null
    if (reason !== null) refuse('invalid_request', reason)
    isHead = false
    yield bytes
  }
}

const COMPOUND_FILE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
const GZIP = '\x1f\x8b'
const ZIP = 'PK\x03\x04'
const EXCEL = `This is an Excel workbook. ${SAVE_IT}`

/** Why a file that begins like this, a byte for each character, is not text; null if it may be. */
const whyNoText = (head: string): string | null => {
  // Old or encrypted workbooks.
  if (head.startsWith(COMPOUND_FILE)) return EXCEL
  if (head.startsWith(GZIP)) return 'This is a gzip archive. Unpack it first.'
  if (!head.startsWith(ZIP)) return null
  if (head.includes('application/vnd.oasis.opendocument'))
    return `This is an OpenDocument spreadsheet. ${SAVE_IT}`
  const nameLength = head.charCodeAt(26) + 256 * head.charCodeAt(27)
  const firstName = head.slice(30, 30 + nameLength)
  return /\.(csv|tsv|jsonl|ndjson|json|txt)$/i.test(firstName)
    ? 'This is a ZIP archive. Unpack it first.'
    : EXCEL
}
