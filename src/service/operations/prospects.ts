import {
  MatchedProspect,
  NewProspect,
  Prospect,
  ProspectChanges,
  ProspectMerge,
  ProspectQuery,
  ProspectSlice,
} from '../../shapes/prospect.ts'
import { ProspectExportLine } from '../../shapes/prospect-export.ts'
import { get, patch, post } from './operation.ts'

export const prospectOperations = {
  /** Creates a prospect, or finds the one with this external id or email and fills its blanks. */
  createProspect: post('/v0/prospects', {
    summary: 'Create a prospect, or find the one that exists and fill its blanks',
    scope: 'prospects:write',
    body: NewProspect,
    answer: MatchedProspect,
    status: 201,
    problems: ['prospect_erased'],
  }),
  /** Lists the prospects of a tenant, newest first, or the one with this email or external id. */
  listProspects: get('/v0/prospects', {
    summary: 'List prospects, newest first, search them, or find one by email or external id',
    scope: 'prospects:read',
    query: ProspectQuery,
    answer: ProspectSlice,
  }),
  /** Reads a prospect. */
  getProspect: get('/v0/prospects/{prospect_id}', {
    summary: 'Read a prospect',
    scope: 'prospects:read',
    answer: Prospect,
  }),
  /** Corrects the email, the external id or the name of a prospect; null clears it. */
  updateProspect: patch('/v0/prospects/{prospect_id}', {
    summary: 'Correct the email, the external id or the name of a prospect',
    scope: 'prospects:write',
    body: ProspectChanges,
    answer: Prospect,
    problems: ['email_taken', 'external_id_taken'],
  }),
  /** Merges a prospect into another one, for good. `startBackground` of `prospect-pages/publisher` moves its activities. */
  mergeProspect: post('/v0/prospects/{prospect_id}/merge', {
    summary: 'Merge a prospect into another one',
    scope: 'prospects:write',
    body: ProspectMerge,
    answer: Prospect,
    problems: ['limit_reached'],
  }),
  /** Everything about one person, line by line, a slice at a time: the answer to a request for access. */
  exportProspect: get('/v0/prospects/{prospect_id}/export', {
    summary: 'Download everything about a prospect',
    scope: ['prospects:read', 'prospect_logs:read'],
    answer: ProspectExportLine,
    lines: true,
  }),
}
