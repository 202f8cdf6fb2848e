import { refuse } from '../engine/failures.ts'

/** Details of a fault: why a given text identifies no one. */
export const NO_IDENTIFIER = { email: 'is not an email address', externalId: 'is blank or a placeholder' }

type Given = { readonly email?: string | undefined; readonly externalId?: string | undefined }
type Missing = { readonly detail: string; readonly pointer: string }

/** Refuses `invalid_request`: neither text identifies anyone. `missing` is the fault if none was given. */
export const refuseUnidentified = ({ email, externalId }: Given, why: string, missing: Missing): never => {
  const identifier = email !== undefined ? 'email' : externalId !== undefined ? 'externalId' : null
  const fault =
    identifier === null ? missing : { detail: NO_IDENTIFIER[identifier], pointer: `/${identifier}` }
  return refuse('invalid_request', why, { errors: [fault] })
}
