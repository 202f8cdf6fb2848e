import { createHook } from '../../core/hooks/create-hook.ts'
import { deleteHook } from '../../core/hooks/delete-hook.ts'
import { getHook } from '../../core/hooks/get-hook.ts'
import { listHooks } from '../../core/hooks/list-hooks.ts'
import { tryHook } from '../../core/hooks/try-hook.ts'
import { updateHook } from '../../core/hooks/update-hook.ts'
import { Hook, HookChanges, HookSlice, HookTrial, HookTrialResult, NewHook } from '../../shapes/hook.ts'
import { idempotent } from '../../shapes/input.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import * as example from './examples.ts'
import { get, ONE_BODY, patch, post, remove } from './operation.ts'

export const hookOperations = {
  /** Creates a hook: an address that a vendor posts to. The path contains a token, returned only this once. */
  createHook: post(
    '/v0/hooks',
    {
      summary: 'Create a hook: an address that a vendor posts to',
      scope: 'hooks:write',
      needs: ['hooks'],
      useCase: createHook,
      body: NewHook,
      takes: idempotent,
      answer: Hook,
      status: 201,
      problems: ['limit_reached'],
    },
    {
      description:
        'A vendor posts its webhooks to `path` (`/hooks/…`, outside `/v0`, without an API key). Each is verified on its raw bytes, mapped, and logged as an activity; the answer comes after it is stored. `docs/hooks.md` has recipes. A tenant has at most 100 hooks. A retry under the same idempotency key returns the hook as it is now, without its token.',
      done: 'The hook. A token in its path is shown only here.',
      requests: {
        stripe: {
          summary: 'A vendor with a preset',
          value: {
            source: 'stripe',
            verify: { preset: 'stripe', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
          },
        },
        hmac: {
          summary: 'Any vendor that signs',
          value: {
            source: 'shop',
            verify: {
              hmac: { algorithm: 'sha256', encoding: 'hex', header: 'X-Signature', prefix: 'sha256=' },
              secret: 'a secret of the vendor',
            },
            map: { type: ['/event'], email: ['/customer/email'], idempotencyKey: ['/id'] },
          },
        },
        token: { summary: 'A vendor that does not sign', value: { source: 'form', verify: { token: true } } },
        form: {
          summary: 'A form on a website',
          value: {
            source: 'contact',
            verify: { token: true },
            map: { email: ['/email'], name: ['/name'], idempotencyKey: ['/id'] },
            redirectTo: 'https://www.shop.example/thanks',
            origins: ['https://www.shop.example'],
            trap: 'website',
          },
        },
      },
      answers: { created: { summary: 'Created', value: example.hook } },
      fault: { detail: 'needs a secret, unless it is verified by a token', pointer: '/verify' },
      limitReached: 'A tenant has at most 100 hooks.',
      firstCreated: { hookId: example.hook.hookId },
    },
  ),
  /** Lists the hooks of a tenant, newest first. */
  listHooks: get(
    '/v0/hooks',
    {
      summary: 'List hooks, newest first',
      scope: 'hooks:write',
      needs: ['hooks'],
      useCase: listHooks,
      query: SliceQuery,
      answer: HookSlice,
    },
    {
      description: 'Returns the hooks of the tenant, newest first.',
      done: 'A slice of hooks.',
      answers: { whole: { summary: 'The only slice', value: { items: [example.hook], hasMore: false } } },
    },
  ),
  /** Reads a hook, without its secret. */
  getHook: get(
    '/v0/hooks/{hook_id}',
    {
      summary: 'Read a hook',
      scope: 'hooks:write',
      needs: ['hooks'],
      useCase: getHook,
      answer: Hook,
    },
    {
      description:
        'Returns a hook, without its secret. `lastRefusal` says why a delivery was last refused; `lastWarning`, if the last one that was accepted identifies no one, was not read in full, or repeats an idempotency key for another person.',
      done: 'The hook.',
      answers: { enabled: { summary: 'An enabled hook', value: example.hook } },
    },
  ),
  /** Changes the values of the given fields. A replaced secret or token stays valid for `overlapHours`. */
  updateHook: patch(
    '/v0/hooks/{hook_id}',
    {
      summary: 'Change, disable or rotate a hook',
      scope: 'hooks:write',
      needs: ['hooks'],
      useCase: updateHook,
      body: HookChanges,
      answer: Hook,
    },
    {
      description:
        'Replaces the given fields; the others keep their values. With `verify`, the old secret or token stays valid for `overlapHours`, so the vendor can switch at any time. A hook that is disabled is refused everywhere within a second.',
      done: 'The hook as it is now.',
      requests: {
        disabled: { summary: 'Disable it', value: { status: 'disabled' } },
        rotated: {
          summary: 'Another secret',
          value: { verify: { preset: 'stripe', secret: 'whsec_another' }, overlapHours: 48 },
        },
      },
      answers: {
        disabled: {
          summary: 'Disabled',
          value: { ...example.hook, status: 'disabled', updatedAt: example.PUBLISHED_AT },
        },
      },
      fault: { detail: 'must be at most 168', pointer: '/overlapHours' },
    },
  ),
  /** Deletes a hook: its address is unknown from then on. */
  deleteHook: remove(
    '/v0/hooks/{hook_id}',
    {
      summary: 'Delete a hook',
      scope: 'hooks:write',
      needs: ['hooks'],
      useCase: deleteHook,
    },
    {
      description: 'Deletes a hook. Its address then returns 404; its activities stay.',
      done: 'The hook is deleted.',
    },
  ),
  /** Tries a delivery and returns the result. Nothing is stored. */
  tryHook: post(
    '/v0/hooks/{hook_id}/try',
    {
      summary: 'Try a delivery without storing it',
      scope: 'hooks:write',
      needs: ['hooks', 'activities'],
      useCase: tryHook,
      body: HookTrial,
      answer: HookTrialResult,
      answerBytesMax: ONE_BODY,
    },
    {
      description:
        'Shows whether a delivery would be verified, the reason if not, and the activities it is mapped to, even if it would be refused. With `map`, uses that instead of the saved one. `warning` says if an earlier activity about another person has the same idempotency key. Nothing is stored.',
      done: 'The result. Nothing was stored.',
      requests: {
        stripe: {
          summary: 'A message that was saved',
          value: {
            headers: { 'stripe-signature': 't=1,v1=0' },
            body: '{"id":"evt_1","type":"charge.succeeded"}',
          },
        },
      },
      answers: {
        refused: {
          summary: 'It would be refused',
          value: {
            verified: false,
            reason: 'The signature does not match. Check the secret.',
            warning: null,
            activities: [
              {
                type: 'charge.succeeded',
                payload: { id: 'evt_1', type: 'charge.succeeded' },
                idempotencyKey: 'evt_1',
                source: 'stripe',
              },
            ],
          },
        },
      },
      fault: { detail: 'is required', pointer: '/body' },
    },
  ),
}
