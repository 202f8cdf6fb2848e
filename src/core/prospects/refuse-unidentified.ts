import { type Fault, refuse } from '../engine/failures.ts'

/** Details of a fault: why a text identifies no one. */
export const NO_IDENTIFIER = { email: 'is not an email address', externalId: 'is blank or a placeholder' }

type Sent = { readonly email?: string | undefined; readonly externalId?: string | undefined }

/** Refuses `invalid_request`: neither text identifies anyone. `missing` is the fault if neither was sent. */
export const refuseUnidentified = (sent: Sent, detail: string, missing: Fault): never =>
  refuse('invalid_request', detail, { errors: [faultOf(sent) ?? missing] })

const faultOf = ({ email, externalId }: Sent): Fault | null => {
  if (email !== undefined) return { detail: NO_IDENTIFIER.email, pointer: '/email' }
  if (externalId !== undefined) return { detail: NO_IDENTIFIER.externalId, pointer: '/externalId' }
  return null
}
