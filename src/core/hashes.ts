import { hash } from 'node:crypto'

/** SHA-256 in 43 URL-safe characters. */
export const sha256 = (text: string): string => hash('sha256', text, 'base64url')
