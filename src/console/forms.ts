import type { Hook } from '../shapes/hook.ts'

/** The type of what a form sends that was connected here. */
export const FORM_TYPE = 'form_submitted'
/** What Typeform, Webflow and Tally call it. */
const FORM_TYPES: readonly string[] = [FORM_TYPE, 'form_response', 'form_submission', 'FORM_RESPONSE']
const FORM_VENDORS: readonly string[] = ['tally', 'typeform', 'webflow']

export const isFormType = (type: string): boolean => FORM_TYPES.includes(type)

/** Whether people fill in what a hook receives. */
export const isFormHook = ({ verify, map, redirectTo, origins, trap, fieldsAsAttributes }: Hook): boolean => {
  const isOfBrowsers = redirectTo !== null || trap !== null || origins.length > 0
  const isUntyped = verify.token === true && fieldsAsAttributes && map.type === undefined
  const isVendor = FORM_VENDORS.includes(verify.preset ?? '')
  return isVendor || isOfBrowsers || isUntyped || map.type?.includes(`=${FORM_TYPE}`) === true
}
