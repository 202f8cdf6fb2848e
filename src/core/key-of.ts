/** One key for a thing known by two or three texts. A NUL parts them: no text that can be stored holds one. */
export const keyOf = (first: string, second: string, third?: string): string =>
  third === undefined ? `${first}\0${second}` : `${first}\0${second}\0${third}`
