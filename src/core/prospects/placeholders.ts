import { isLeftover } from '../../json/places.ts'

/** Texts that programs, spreadsheets and analytics send for a missing id: in lower case, without blanks and underscores. */
const WORDS = new Set(
  `null undefined none nil nan na n/a #n/a -1 true false infinity -infinity \\n anon anonymous unknown guest visitor test
  notset notprovided notauthenticated empty missing id userid distinctid email user username objectobject
  object string blank inf -inf n.a notavailable notapplicable invaliddate anonymoususer guestuser testuser unknownuser
  customerid contactid externalid`.split(/\s+/),
)

/** Whether a text stands for a missing id. A name or a type may be such a word. */
export const isPlaceholder = (text: string): boolean => isLeftover(text, (word) => WORDS.has(word))
