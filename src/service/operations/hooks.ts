import { Hook, HookChanges, HookSlice, HookTrial, HookTrialResult, NewHook } from '../../shapes/hook.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { get, patch, post, remove } from './operation.ts'

export const hookOperations = {
  /** Creates a hook: an address that a vendor posts to. A token is in its path, for the only time. */
  createHook: post('/v0/hooks', {
    summary: 'Create a hook: an address that a vendor posts to',
    scope: 'hooks:write',
    body: NewHook,
    answer: Hook,
    status: 201,
    problems: ['limit_reached'],
  }),
  /** Lists the hooks of a tenant, newest first. */
  listHooks: get('/v0/hooks', {
    summary: 'List hooks, newest first',
    scope: 'hooks:write',
    query: SliceQuery,
    answer: HookSlice,
  }),
  /** Reads a hook, without its secret. */
  getHook: get('/v0/hooks/{hook_id}', {
    summary: 'Read a hook',
    scope: 'hooks:write',
    answer: Hook,
  }),
  /** Changes the given fields; a new secret or token leaves the old one valid for `overlapHours`. */
  updateHook: patch('/v0/hooks/{hook_id}', {
    summary: 'Change, disable or rotate a hook',
    scope: 'hooks:write',
    body: HookChanges,
    answer: Hook,
  }),
  /** Deletes a hook: its address is unknown from then on. */
  deleteHook: remove('/v0/hooks/{hook_id}', {
    summary: 'Delete a hook',
    scope: 'hooks:write',
  }),
  /** Tries a delivery and returns the result. Nothing is stored. */
  tryHook: post('/v0/hooks/{hook_id}/try', {
    summary: 'Try a delivery without storing it',
    scope: 'hooks:write',
    body: HookTrial,
    answer: HookTrialResult,
  }),
}
