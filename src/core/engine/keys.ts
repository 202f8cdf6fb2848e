import { hash } from 'node:crypto'

/** One map key for several texts. Separated by NUL, which no stored text contains. */
export const keyOf = (...texts: readonly string[]): string => texts.join('\0')

/** SHA-256 in 43 URL-safe characters. */
export const sha256 = (text: string): string => hash('sha256', text, 'base64url')
