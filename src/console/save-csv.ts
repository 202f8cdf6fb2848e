import { actions, button, counted, h } from './dom.ts'
import type { Field } from './fields.ts'
import { notify, openDialog, showError } from './notices.ts'

/** Saves a file as a download of the browser. */
export const saveFile = (name: string, file: Blob): void => {
  const href = URL.createObjectURL(file)
  h('a', { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

/** A row with the cells that every row has, by the names of their columns, and with fields that other rows may lack. */
export type CsvRow = {
  readonly cells: Readonly<Record<string, string | null | undefined>>
  readonly fields: readonly Field[]
}
type CsvSlice = { readonly rows: readonly CsvRow[]; readonly nextCursor: string | undefined }

/** Spreadsheets read the file as UTF-8 if it begins with this mark. */
const UTF8_MARK = '\ufeff'
/** More different fields than this share one more column. */
const FIELD_COLUMNS_MAX = 200

/** Saves a list for spreadsheets. Reads it slice by slice, until its end or until the reader cancels. `what`: whose rows. */
export const saveAsCsv = async (
  name: string,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<CsvSlice>,
  what = '',
): Promise<void> => {
  const ending = new AbortController()
  const progress = h('p', { role: 'status' }, 'Reading…')
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'Save as CSV', onclose: () => ending.abort() },
    h('h2', 'Save as CSV'),
    progress,
    actions(button('Cancel', () => dialog.close())),
  )
  openDialog(dialog)
  const rows: CsvRow[] = []
  let cursor: string | undefined
  try {
    do {
      const slice = await read(cursor, ending.signal)
      if (!dialog.open) return
      rows.push(...slice.rows)
      cursor = slice.nextCursor
      progress.textContent = `${counted(rows.length, 'row')} so far…`
    } while (cursor)
    const file = new Blob([UTF8_MARK, ...linesOf(rows)], { type: 'text/csv' })
    saveFile(`${name} ${localTime(new Date().toISOString()).slice(0, 10)}.csv`, file)
    dialog.close()
    notify(`Saved ${counted(rows.length, 'row')}${what && `: ${what}`}.`)
  } catch (error) {
    if (dialog.open) showError(error)
    dialog.close()
  }
}

/** A time in the reader's time zone as spreadsheets read it: `2026-11-28 18:24`. Empty if it is not a time. */
export const localTime = (time: string): string => {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return ''
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16).replace('T', ' ')
}

/** The lines of the file: the names of the columns, then the rows, with a column for each field that any row has. */
const linesOf = (rows: readonly CsvRow[]): readonly string[] => {
  const isDecimalComma = (0.5).toLocaleString(navigator.language).includes(',')
  const lineOf = (cells: readonly string[]) => `${cells.join(isDecimalComma ? ';' : ',')}\r\n`
  const columns = Object.keys(rows[0]?.cells ?? {})
  const paths = [...new Set(rows.flatMap(({ fields }) => fields.map(({ path }) => path)))]
  const fieldColumns = paths.slice(0, FIELD_COLUMNS_MAX)
  const hasMore = paths.length > FIELD_COLUMNS_MAX
  const heads = [...columns, ...fieldColumns, ...(hasMore ? ['More'] : [])]
  const lines = rows.map(({ cells, fields }) => {
    const byPath = new Map(fields.map((field) => [field.path, field]))
    const texts = columns.map((column) => textCell(cells[column] ?? ''))
    for (const path of fieldColumns) texts.push(fieldCell(byPath.get(path), isDecimalComma))
    for (const path of fieldColumns) byPath.delete(path)
    if (hasMore)
      texts.push(textCell([...byPath.values()].map(({ path, text }) => `${path}: ${text}`).join('\n')))
    return lineOf(texts)
  })
  return [lineOf(heads.map(textCell)), ...lines]
}

/** Spreadsheets round numbers that have more digits. */
const DIGITS_MAX = 15

/** Numbers are written as the reader writes them. */
const fieldCell = (field: Field | undefined, isDecimalComma: boolean): string => {
  if (field === undefined) return ''
  const { text, isNumber } = field
  if (!isNumber || text.replace(/\D/g, '').length > DIGITS_MAX) return textCell(text)
  return isDecimalComma ? text.replace('.', ',') : text
}

/** What a spreadsheet would run as a formula, or would change: it drops a zero at the beginning, as of a postcode. */
const CHANGED_BY_SPREADSHEETS = /^([=+\-@\t\r\n＝＋－＠]|0\d+$|\d{16})/

/** A cell that a spreadsheet shows unchanged, even if it splits cells at another separator. */
const textCell = (text: string): string => {
  const safe = CHANGED_BY_SPREADSHEETS.test(text) ? `'${text}` : text
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
