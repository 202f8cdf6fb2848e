/** Rows as lines of text, columns as wide as they must be; all but the first column to the right. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[], left = 1): string => {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => (row[i] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i < left ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd()
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

export const whole = (value: number | null): string =>
  value === null ? '-' : Math.round(value).toLocaleString('en')
export const ms = (value: number | null): string => {
  if (value === null) return '-'
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
}
export const percent = (value: number): string => `±${Math.round((value / 2) * 100)}%`
export const times = (value: number): string => `${value.toFixed(2)} ×`
