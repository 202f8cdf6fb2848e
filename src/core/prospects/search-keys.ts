/** How many people of each kind a search reads: by email, by name, by last word, and the newest of all, indexed or not. */
export const SEARCHED_MAX = 2_000
/** Only the beginning of an email and a name is compared, as long as a search may be. */
const KEY_LENGTH = 100
const ACCENTS = /[\u0300-\u036f]/g

/** A text as names are compared: in lower case, without accents and outer blanks. */
const folded = (text: string): string => text.normalize('NFKD').replace(ACCENTS, '').toLowerCase().trim()
const cut = (text: string): string => [...text].slice(0, KEY_LENGTH).join('')

/** The key of a name, and of its last word if there are several. */
export const nameKeysOf = (name: string | null) => {
  const key = folded(name ?? '')
  const last = key.slice(key.lastIndexOf(' ') + 1)
  return { nameKey: cut(key) || null, lastNameKey: last === key ? null : cut(last) }
}

/** The beginnings of the emails and name keys to search for. */
export const searchKeysOf = (search: string) => ({
  emailStart: cut(search.trim().toLowerCase().normalize('NFC')),
  nameStart: cut(folded(search)),
})

/** Sorts after every text with this beginning. */
export const afterStart = (start: string): string => `${start}\u{10ffff}`

export const begins = (key: string | null, start: string): boolean =>
  start !== '' && (key?.startsWith(start) ?? false)
