import { domainToUnicode } from 'node:url'
import { isLeftover, wordOf, wordsIn } from '../../json/leftovers.ts'

// Words are compared as `wordOf` returns them: without case, accents, blanks, `_` and `-`. None of them is a usual name.

/** Words for a person who is not known or an address that is not there, sent by programs and typed by people. */
const NO_ONE = wordsIn(`
  null, undefined, none, nil, nan, nat, na, n/a, n.a., #n/a, <na>, empty, blank, missing, nul, unset, n/c, n.c.,
  not set, not defined, not specified, not provided, not given, not available, not applicable, not authenticated, not found,
  not known, no value, no data, invalid, invalid date, invalid email, dbnull, nullptr, nulo, nulla, nullwert,
  anon, anonymous, anonymous user, anonymous visitor, unknown, unknown user, unnamed, no name, nobody, no one, guest, guest user,
  visitor, test, test user, dummy user, deleted, deleted user, removed, redacted, erased, anonymized, anonymised,
  tbd, tba, to be determined, to be defined, tbc, none provided, nowhere, n/d, n.d., s/d,
  no email, no e-mail, no mail, no email address, no email provided, no id, without email, does not have email,
  email not available, email unknown, has no email, missing email, no reply, do not reply, dont reply, not my email,
  object object, no such email, no thanks,

  keine, kein, k.A., k/A, o.A., keine angabe, keine angaben, ohne angabe, nicht angegeben, nicht vorhanden, nicht verfügbar,
  nicht bekannt, nicht gesetzt, keine email, keine e-mail, keine mail, keine adresse, keine email adresse, ohne email, unbekannt,
  unbekannter nutzer, anonym, besucher, gelöscht, entfernt, ohne, ohne namen, kein name, nichts, niemand, entfällt, keine antwort, nicht zutreffend,

  inconnu, inconnue, aucun, aucune, non renseigné, non renseignée, non défini, non disponible, non applicable, non précisé,
  non communiqué, pas d'email, pas de mail, pas d'adresse, pas de réponse, sans email, sans mail, aucun email, anonyme, invité,
  visiteur, supprimé, néant, ne pas répondre,

  sin datos, ninguno, ninguna, desconocido, desconocida, sin email, sin correo, sin correo electrónico, sin mail, no tiene, no tiene
  correo, no tiene email, no disponible, no definido, no especificado, no aplica, no informado, no responder, sin información, sin
  nombre, anónimo, anónima, invitado, invitada, eliminado, borrado, nadie, no contesta, no consta,

  nessuno, nessuna, sconosciuto, sconosciuta, non disponibile, non definito, non specificato, non fornito, non applicabile,
  non pervenuto, senza email, senza mail, nessuna email, nessuna mail, non ha email, anonimo, anonima, ospite, eliminato, cancellato,
  nessun indirizzo, non rispondere,

  desconhecido, desconhecida, nenhum, nenhuma, sem dados, sem email, sem e-mail, não tem, não informado, não informada,
  não disponível, não definido, não especificado, não se aplica, não possui, nao possui email, convidado, excluído, apagado,
  removido, ninguém, não responder,

  onbekend, geen, geen email, geen e-mail, geen mail, niet beschikbaar, niet bekend, niet ingevuld, niet opgegeven, niet van
  toepassing, n.v.t., nvt, anoniem, verwijderd,

  okänd, saknas, ingen, inget, ingen email, ingen e-post, ej angiven, ej angivet, ej tillgänglig, ukendt, ukjent, ikke angivet,
  ikke oppgitt, ikke tilgjengelig, ikke tilgængelig, ingen epost, anonymt, slettet, borttagen, raderad, gæst, gjest,
  tuntematon, ei ole, ei mitään, ei sähköpostia, ei tiedossa, ei saatavilla, vieras, poistettu,

  brak, brak danych, brak emaila, brak email, brak adresu, nieznany, nieznana, nieznane, nie dotyczy, nie podano, nie ma,
  anonimowy, gość, usunięty, usunięto, brak maila, neznámý, neznámá, není, není uvedeno, nemá, nemá email, neuvedeno, žádný, žádná,
  žádný email, bez emailu, smazáno, anonymní, neznámy, žiadny, neuvedené, ismeretlen, nincs, nincs adat, nincs email,
  nincs megadva, névtelen, vendég, törölt, necunoscut, nespecificat, fără email, nu are, niciunul, lipsă, șters,
  nepoznato, nepoznat, nema, nema podataka, bez emaila, bilinmiyor, yok, e-posta yok, mail yok, belirtilmemiş, belirtilmedi,
  mevcut değil, misafir, silindi, tidak ada, tidak diketahui, tidak tersedia, tanpa email, tamu, dihapus,
  không có, không rõ, không xác định, không có email, khách, đã xóa,

  неизвестно, неизвестный, неизвестен, нет, нет данных, нет почты, нет email, не указано, не указан, не задано, не определено,
  отсутствует, без почты, аноним, анонимный, гость, удалено, удален, удалён, никто, невідомо, невідомий, немає, немає даних,
  не вказано, видалено, анонім, гість, няма, неизвестна, непознат, нема,

  άγνωστο, άγνωστος, κανένα, κανένας, δεν υπάρχει, δεν έχει, ανώνυμος, χωρίς email, διαγράφηκε,
  لا يوجد, غير معروف, غير محدد, غير متوفر, بدون, بدون بريد, مجهول, محذوف, ضيف, אין, לא ידוע, לא צוין, אורח, אנונימי, נמחק,
  نامشخص, ندارد, ناشناس, मेहमान, अज्ञात, कोई नहीं, उपलब्ध नहीं, ไม่มี, ไม่ทราบ, ไม่ระบุ, ผู้เยี่ยมชม,
  无, 未知, 未填写, 未设置, 没有, 暂无, 空, 匿名, 游客, 访客, 已删除, 無, 沒有, 未填寫, 未設定, 不明, 不詳, 訪客, 已刪除, 无邮箱,
  なし, 未設定, 未入力, 未登録, 該当なし, メールなし, 匿名希望, ゲスト, 名無し, 削除済み, 없음, 미입력, 알수없음, 알 수 없음, 미정, 익명, 게스트,
  손님, 삭제됨, 해당 없음`)

/** Names of fields, types and states, left of a template or a form. A domain may have such a name, and so an address. */
const FIELDS = wordsIn(`
  true, false, infinity, inf, void, hidden, masked, withheld, private, pending, todo, vide, vacío, vuoto, vazio, leer, leeg, pusty, пусто,
  gast, uncaught, not found error, id, ids, uid, uuid, guid, key, hash, token, value, values, field, number, string, object, array, function, promise, class, symbol,
  error, exception, proxy, integer, text, type, name, first, last, first name, last name, fname, lname, full name,
  your name, nickname, phone, user, user id, username, user name, customer, customer id, customer number, customer no, contact,
  contact id, contact key, client, client id, member, member id, subscriber, subscriber id, subscriber key, recipient, recipient id,
  lead, lead id, person, person id, profile, profile id, prospect, prospect id, account, account id, visitor id, record id, external,
  external id, external key, distinct id, anonymous id, device id, session id, click id, clickid, gclid, fbclid, cid, email, emails,
  e-mail, mail, email address, e-mail address, emailaddr, mail address, your email, your e-mail, email id, email here, enter email,
  enter your email, insert email, data, var, variable, param, placeholder, default, example, sample, dummy, demo, fake, merge field,
  stdclass object, std class, closure object, closure, lambda, coroutine, generator, nothing, none type, na character, na integer, na real, ellipsis, not implemented,
  kunde, kundennummer, kundenid, benutzer, kontakt, kontakt id, e-mail-adresse, vorname, nachname, adresse e-mail, courriel,
  correo, correo electrónico, identifiant, identificador, reference error, type error, syntax error,
  null pointer exception, null reference exception`)

/** What people type where an address is required: the same word on both sides of the @. */
const TYPED = wordsIn(`
  a, 1, abc, abcd, abc123, abcdef, asd, asdf, asdfg, asdfgh, asdfasdf, asdasd, qwe, qwer, qwert, qwerty, qwertz, azerty, zxc, zxcv,
  foo, foobar, bla, blabla, blah, blub, lorem, fake, dummy, demo, sample, example, beispiel, exemple, ejemplo, no, nope, not,
  nix, email, e-mail, name, user, username, address, domain, yourname, youremail, someone,
  somebody, anybody, nomail, nospam, test test, 123, 1234, 12345, 123456, xyz`)
/** Domains of forms and manuals. `example.com` is none of them, because people try a service with it. */
const SAMPLE_DOMAINS = wordsIn(
  'domain, your domain, my domain, yourcompany, mycompany, deine domain, ihre domain',
)

/**
 * No mail is ever sent there (RFC 2606, RFC 6761), or a program had no domain. Under `.example` and `.test` people try a
 * service, so those are people.
 */
const RESERVED = new Set(['invalid', 'localhost', 'localdomain', 'undefined', 'null', 'nan'])

const isNoOne = (word: string): boolean => NO_ONE.has(word)
const isWord = (word: string): boolean => NO_ONE.has(word) || FIELDS.has(word)

/** Whether a text stands for a missing id, key or address. A name or a type may be such a word. */
export const isPlaceholder = (text: string): boolean => isLeftover(text, isWord)

/** A number as spreadsheets and programs write it when it is too long. An id such as `12e4567` is no number of these. */
const SCIENTIFIC = /^[+-]?(?:\d+(?:[.,]\d*)?e\+\d{1,3}|\d(?:[.,]\d+)?e-?\d{1,3}|\d+[.,]\d+e-?\d{1,3})$/i
/** The ends of the range of a type. */
const ENDS_OF_RANGES =
  /^(?:-2147483648|2147483647|4294967295|-9223372036854775808|9223372036854775807|18446744073709551615)$/
/** The first moment of a calendar, or the moment before it in another time zone. */
const DAY = String.raw`(?:1970([-./])0?1\1(?:0?1)|1969([-./])12\2\d\d|0001-01-01|1899-12-3[01]|1900-01-0[01]|1601-01-01|9999-12-31|0?1([-./])0?1\3(?:1970|0001|1900)|31([-./])12\4(?:1969|1899|9999)|12([-./])31\5(?:1969|9999))`
const EPOCH = new RegExp(String.raw`^${DAY}(?:(?:[t,]|,?)[\d:.,]*(?:[ap]m)?(?:z|utc|gmt|[+-][\d:]+)?)?$`)
const WRITTEN_EPOCH = /^(?:[a-z]{3},?)?(?:jan0?1,?1970|0?1-?jan-?1970|dec31,?1969|31-?dec-?1969)/
const ALL_F = /^\{?f{8}-?(?:f{4}-?){3}f{12}\}?$|^0xf{8,}$|^f{24}$/

/** Whether an external id stands for a missing one. */
export const isPlaceholderId = (id: string): boolean => {
  if (isPlaceholder(id)) return true
  const bare = id.toLowerCase().replace(/[\s"'=]/g, '')
  if (bare.length > 64) return false
  const [local, domain, ...more] = bare.split('@')
  if (local && domain && more.length === 0 && isNobodysAddress(local, domain)) return true
  return [SCIENTIFIC, ENDS_OF_RANGES, EPOCH, WRITTEN_EPOCH, ALL_F].some((form) => form.test(bare))
}

/**
 * Whether an address is nobody's: its domain cannot exist, or both sides of the @ are words for nobody, as in
 * `none@none.com`. `null@example.com` may be a person, and so may `ada@none.com`.
 */
export const isNobodysAddress = (local: string, domain: string): boolean => {
  if (RESERVED.has(domain.slice(domain.lastIndexOf('.') + 1))) return true
  const dot = domain.indexOf('.')
  const label = addressWord(dot < 0 ? domain : domain.slice(0, dot))
  if (isNoOne(label)) return local.split('.').every((part) => isNoOne(addressWord(part)))
  if (SAMPLE_DOMAINS.has(label)) return isTyped(addressWord(local))
  if (label[0] !== local[0]) return false
  const word = addressWord(local)
  return (
    (CROSSES.test(word) && CROSSES.test(label)) ||
    (word === label && (TYPED.has(word) || ONE_SIGN.test(word)))
  )
}
const isTyped = (word: string): boolean => isWord(word) || TYPED.has(word)
const CROSSES = /^x+$/
const ONE_SIGN = /^(.)\1+$/u

const IS_PLAIN = /^[a-z\d]*$/
/** The word of a side of an address: most are words already. */
const addressWord = (side: string): string => {
  if (IS_PLAIN.test(side)) return side
  return wordOf(side.startsWith('xn--') ? domainToUnicode(side) : side).replaceAll('.', '')
}
