import { openDialog } from './dialog.ts'
import { actions, button, counted, h } from './dom.ts'
import { showError } from './notices.ts'

/** Saves a file as a download of the browser. */
export const saveFile = (name: string, file: Blob): void => {
  const href = URL.createObjectURL(file)
  h('a', { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

type Cell = string | null | undefined
type CsvSlice = { readonly rows: readonly (readonly Cell[])[]; readonly nextCursor: string | undefined }

/** Spreadsheets read the file as UTF-8 if it begins with this mark. */
const UTF8_MARK = '\ufeff'

/** Saves a list for spreadsheets. Reads it slice by slice, until its end or until the reader cancels. */
export const saveAsCsv = async (
  name: string,
  heads: readonly string[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<CsvSlice>,
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
  const lines: string[] = []
  let cursor: string | undefined
  try {
    do {
      const { rows, nextCursor } = await read(cursor, ending.signal)
      if (!dialog.open) return
      lines.push(...rows.map(lineOf))
      cursor = nextCursor
      progress.textContent = `${counted(lines.length, 'row')} so far…`
    } while (cursor)
    const file = new Blob([UTF8_MARK, lineOf(heads), ...lines], { type: 'text/csv' })
    saveFile(`${name} ${new Date().toISOString().slice(0, 10)}.csv`, file)
  } catch (error) {
    if (dialog.open) showError(error)
  }
  dialog.close()
}

const lineOf = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(',')}\r\n`

/** A cell that no spreadsheet reads as a formula, even if it splits cells at semicolons. */
const cellOf = (text: Cell): string => {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text ?? '') ? `'${text}` : (text ?? '')
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
