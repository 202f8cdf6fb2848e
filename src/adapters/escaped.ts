/** Escapes characters that control the terminal or reverse the writing direction: a name may contain any character. */
export const escaped = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Escapes JSON without changing its value: tabs and line ends are between its strings, never in them. */
const escapedJson = (json: string): string => json.replace(/[^\t\n\r]+/g, escaped)

/** JSON for a stream: escaped on a terminal, byte for byte in a pipe or a file. */
export const jsonFor = (stream: { readonly isTTY?: boolean }, json: string): string =>
  stream.isTTY ? escapedJson(json) : json
