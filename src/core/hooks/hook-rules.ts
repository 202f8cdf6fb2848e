import type { NewHook } from '../../shapes/hook.ts'
import { isByToken } from '../../shapes/hook-rules.ts'
import type { RawJson } from '../../shapes/json.ts'
import type { StoredHook } from '../ports/hooks.ts'
import { signsChallenges } from './challenge.ts'
import { refuseVerification } from './hook-secret.ts'
import { PRESET_ROWS } from './presets.ts'

/** Further settings of a hook that browsers post to. */
type ForBrowsers = Pick<NewHook, 'redirectTo' | 'origins' | 'trap'>
/** The stored rules of a hook, as they were sent. Newer members are missing in older rows. */
export type HookRules = Pick<NewHook, 'map' | 'each'> &
  Partial<
    ForBrowsers &
      Pick<NewHook, 'unidentified' | 'challenge' | 'answer' | 'fieldsAsAttributes' | 'attributesMode'>
  > & {
    readonly verify: Omit<NewHook['verify'], 'secret'>
  }

/** The rules with the additions of the preset. Without an HMAC a hook is verified by its token. */
export const rulesOf = ({ rules }: Pick<StoredHook, 'rules'>) => {
  const { verify, map, each, redirectTo, origins, trap, challenge, answer, ...others }: HookRules =
    JSON.parse(rules.rawJson)
  const preset = verify.preset && PRESET_ROWS[verify.preset]
  return {
    verify,
    hmac: verify.hmac ?? preset?.hmac,
    map: { ...preset?.map, ...map },
    /** A preset's key is the vendor's id of the event, but one that was mapped by hand may name what the event is about. */
    isKeyByHand:
      String(map.idempotencyKey ?? preset?.map.idempotencyKey) !== String(preset?.map.idempotencyKey),
    each: each ?? preset?.each ?? null,
    challenge: challenge ?? preset?.challenge ?? null,
    probe: preset?.probe ?? null,
    answer: answer ?? preset?.answer ?? null,
    pingType: preset?.pingType,
    headerPrefixes: preset?.headerPrefixes,
    unidentified: others.unidentified ?? 'new',
    fieldsAsAttributes: others.fieldsAsAttributes ?? false,
    attributesMode: others.attributesMode ?? 'fill',
    redirectTo: redirectTo ?? null,
    origins: origins ?? [],
    trap: trap ?? null,
  }
}

/** The rules as they are stored. Refuses `invalid_request`: a vendor that signs is no browser. */
export const rulesText = ({
  verify: { preset, hmac, token },
  map,
  each,
  redirectTo,
  origins,
  trap,
  challenge,
  answer,
  unidentified,
  fieldsAsAttributes,
  attributesMode,
}: HookRules): RawJson => {
  const isForBrowsers = Boolean(redirectTo || origins?.length || trap)
  if (isForBrowsers && !isByToken({ preset, token }))
    refuseVerification('must be by a token for redirectTo, origins or trap', '/verify')
  if (signsChallenges(challenge ?? null) && isByToken({ preset, token }))
    refuseVerification('must be by a secret, with which the reply is signed', '/challenge')
  const verify = { preset, hmac, token }
  const forBrowsers = { redirectTo, origins, trap, challenge, answer }
  const rules = { verify, map, each, ...forBrowsers, unidentified, fieldsAsAttributes, attributesMode }
  return { rawJson: JSON.stringify(rules) }
}
