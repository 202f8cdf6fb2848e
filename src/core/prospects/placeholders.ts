/** Texts that programs, spreadsheets and analytics send for a missing id: in lower case, without blanks and underscores. */
const WORDS = new Set(
  `null undefined none nil nan na n/a #n/a -1 true false infinity -infinity \\n anon anonymous unknown guest visitor test
  notset notprovided notauthenticated empty missing id userid distinctid email user username objectobject
  object string blank inf -inf n.a notavailable notapplicable invaliddate anonymoususer guestuser testuser unknownuser
  customerid contactid externalid`.split(/\s+/),
)
const NEGLIGIBLE = /[\s_\p{Default_Ignorable_Code_Point}]/gu
const AROUND_WORD = /^["'`(<]+|["'`)>.,;]+$/g
/** Punctuation and zeros alone, a variable of a template, or the error of a spreadsheet. In single braces it has no digit, so that a GUID is none. */
const BLANK_OR_VARIABLE =
  /^[\p{P}\p{Sm}\p{Sc}\p{Sk}0]*$|\{\{.*\}\}|[$#]\{.*\}|<%.*%>|\*\|.*\|\*|\[object|^%.*%$|^\[.*\]$|^<<.*>>$|^\{(?:\D*|\d)\}$|^\(.*\)$|^\$[a-z.]+$|^%[a-z@]$|^#[a-z\d/]+[!?]$/su

/** Whether a text stands for a missing id, whatever its case and the blanks, quotes and brackets in it or around it. */
export const isPlaceholder = (text: string): boolean => {
  const bare = text.toLowerCase().replace(NEGLIGIBLE, '')
  return BLANK_OR_VARIABLE.test(bare) || WORDS.has(bare.replace(AROUND_WORD, ''))
}
