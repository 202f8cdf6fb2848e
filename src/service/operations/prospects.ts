import { createProspect } from '../../core/prospects/create-prospect.ts'
import { createProspects } from '../../core/prospects/create-prospects.ts'
import { exportProspect } from '../../core/prospects/export-prospect.ts'
import { getProspect } from '../../core/prospects/get-prospect.ts'
import { listProspectConflicts } from '../../core/prospects/list-prospect-conflicts.ts'
import { listProspects } from '../../core/prospects/list-prospects.ts'
import { mergeProspect } from '../../core/prospects/merge-prospect.ts'
import { updateProspect } from '../../core/prospects/update-prospect.ts'
import { inMode } from '../../shapes/input.ts'
import {
  MatchedProspect,
  NewProspect,
  Prospect,
  ProspectBatch,
  ProspectBatchResult,
  ProspectChanges,
  ProspectConflictSlice,
  ProspectMerge,
  ProspectQuery,
  ProspectSlice,
  ProspectWithIdentifiers,
} from '../../shapes/prospect.ts'
import { ProspectExportLine } from '../../shapes/prospect-export.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import * as example from './examples.ts'
import { get, ONE_BODY, patch, post } from './operation.ts'

export const prospectOperations = {
  /** Creates a prospect, or finds the one with this external id or email and fills its blanks. */
  createProspect: post(
    '/v0/prospects',
    {
      summary: 'Create a prospect, or find the one that exists and fill its blanks',
      scope: 'prospects:write',
      needs: ['activities', 'prospects'],
      useCase: createProspect,
      body: NewProspect,
      takes: inMode,
      answer: MatchedProspect,
      status: 201,
      problems: ['prospect_erased'],
    },
    {
      description:
        'Creates a prospect with this `externalId`, `email`, `name` and these `attributes`. If one exists with this `externalId`, otherwise with this `email`, its empty fields are filled instead. Nothing is overwritten, except attributes by a key with `attributes:overwrite`, so repeating a request is safe. One of `externalId` and `email` is required. What the prospect does not take is left out, and named by `conflicts`: an email that is `taken` by another prospect, one that is `different` from the email it has, and an email or external id that is `unusable`, because it identifies no one.',
      done: 'The prospect was created.',
      also: {
        status: 200,
        done: 'The prospect existed. Its empty fields were filled.',
        answers: {
          found: { summary: 'The prospect existed', value: { ...example.prospect, conflicts: [] } },
          conflict: {
            summary: 'The prospect has another email, which stays',
            value: { ...example.prospect, conflicts: [{ field: 'email', reason: 'different' }] },
          },
        },
      },
      requests: {
        customer: {
          summary: 'A customer of a shop',
          value: {
            externalId: 'customer-4711',
            email: 'ada@example.com',
            name: 'Ada Lovelace',
            attributes: { company: 'Analytical Engines', phone: '+44 20 7946 0018' },
          },
        },
      },
      answers: { created: { summary: 'A new prospect', value: { ...example.prospect, conflicts: [] } } },
      fault: { detail: 'is required without an email', pointer: '/externalId' },
    },
  ),
  /**
   * Creates or finds many, in order. Returns for each its result or its `DomainFailure`; one failure affects no other, but
   * after `unavailable` the rest is not tried.
   */
  createProspects: post(
    '/v0/prospects/batch',
    {
      summary: 'Create or find up to 1,000 prospects',
      scope: 'prospects:write',
      needs: ['activities', 'prospects'],
      useCase: createProspects,
      item: NewProspect,
      takes: inMode,
      body: ProspectBatch,
      answer: ProspectBatchResult,
    },
    {
      description:
        'Creates or finds 1 to 1,000 prospects in the order in which they are sent: an item finds the prospect that an item before it created. Each item is the body of a single request and has its own result, with its `conflicts`.\n\nNo idempotency key is needed: a repeated batch finds every prospect and fills nothing. Its results are the same, with status 200 for those that were created. All items together may take 8 MiB unless the server sets another limit. A batch counts as its items against the rate limit.',
      done: 'Every prospect was created or found.',
      also: {
        status: 207,
        done: 'At least one item was refused: its `status` and `problem` are those of a single request. The others are stored.',
        answers: {
          some_refused: {
            summary: 'One of two items was refused',
            value: {
              items: [
                { status: 200, prospect: { ...example.prospect, conflicts: [] } },
                {
                  status: 400,
                  problem: {
                    type: '/problems/invalid_request',
                    title: 'Invalid request',
                    status: 400,
                    detail: 'A prospect needs an external id or an email.',
                    instance: '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11',
                    code: 'invalid_request',
                    errors: [{ detail: 'is not an email address', pointer: '/email' }],
                  },
                },
              ],
              accepted: 1,
              refused: 1,
            },
          },
        },
      },
      requests: {
        two: {
          summary: 'Two customers of a shop',
          value: {
            items: [
              { externalId: 'customer-4711', email: 'ada@example.com', name: 'Ada Lovelace' },
              { externalId: 'customer-4712', email: 'grace@example.com' },
            ],
          },
        },
      },
      answers: {
        all_accepted: {
          summary: 'The only prospect was created',
          value: {
            items: [{ status: 201, prospect: { ...example.prospect, conflicts: [] } }],
            accepted: 1,
            refused: 0,
          },
        },
      },
      fault: { detail: 'must have 1 to 1,000 items', pointer: '/items' },
    },
  ),
  /** Lists the prospects of a tenant, newest first, or the one with this email or external id. */
  listProspects: get(
    '/v0/prospects',
    {
      summary: 'List prospects, newest first, search them, or find one by email or external id',
      scope: 'prospects:read',
      needs: ['prospects'],
      useCase: listProspects,
      query: ProspectQuery,
      answer: ProspectSlice,
      answerBytesMax: ONE_BODY,
    },
    {
      description:
        'Returns the prospects of the tenant, one slice at a time. With `email` or `externalId`, at most the one prospect that has it. With `search`, the people whose email or name begins with it. Erased prospects are omitted.',
      done: 'A slice of prospects.',
      answers: {
        whole: { summary: 'The only slice', value: { items: [example.prospect], hasMore: false } },
        nobody: { summary: 'No prospect has this email', value: { items: [], hasMore: false } },
      },
    },
  ),
  /** Lists pairs of prospects whom one activity named, newest first: they may be one person. */
  listProspectConflicts: get(
    '/v0/prospect_conflicts',
    {
      summary: 'List pairs of prospects that may be one person, newest first',
      scope: 'prospects:read',
      needs: ['prospectConflicts'],
      useCase: listProspectConflicts,
      query: SliceQuery,
      answer: ProspectConflictSlice,
    },
    {
      description:
        'Returns the pairs of prospects whom an activity named together, one slice at a time: it belongs to the one that its `prospectId` or its `externalId` names, but its `email` or `externalId` is that of the other. A pair is listed once, with the last time, and no longer once either prospect is merged or erased. A slice may then hold fewer items than `limit` while `hasMore` is true.',
      done: 'A slice of pairs.',
      answers: {
        whole: {
          summary: 'The only slice',
          value: {
            items: [
              {
                prospectIds: [example.PROSPECT_ID, example.OTHER_PROSPECT_ID],
                field: 'email',
                at: example.PUBLISHED_AT,
              },
            ],
            hasMore: false,
          },
        },
      },
    },
  ),
  /** Reads a prospect. */
  getProspect: get(
    '/v0/prospects/{prospect_id}',
    {
      summary: 'Read a prospect',
      scope: 'prospects:read',
      needs: ['prospects'],
      useCase: getProspect,
      answer: ProspectWithIdentifiers,
    },
    {
      description:
        'Returns a prospect, with every email and external id that leads to it, and those that it had before. Lists and events show only the first of each. An erased prospect returns 410.',
      done: 'The prospect.',
      answers: {
        named: { summary: 'With an email, an external id and a name', value: example.readProspect },
        anonymous: {
          summary: 'Without any',
          value: { ...example.readProspect, email: null, externalId: null, name: null, formerEmails: [] },
        },
      },
    },
  ),
  /** Corrects the email, the external id, the name or attributes of a prospect; null clears them. */
  updateProspect: patch(
    '/v0/prospects/{prospect_id}',
    {
      summary: 'Correct the email, the external id, the name or attributes of a prospect',
      scope: 'prospects:write',
      needs: ['prospects', 'activities'],
      useCase: updateProspect,
      body: ProspectChanges,
      answer: Prospect,
      problems: ['email_taken', 'external_id_taken', 'limit_reached'],
    },
    {
      description:
        'Replaces the email, the external id or the name of a prospect, or removes it; or the attributes that are named. Earlier activities keep the values they were sent with.\n\nThe former email identifies no one any more, but an erasure of this prospect blocks it, too. If the person still uses it, send `keepFormerEmail`; if it never was this person’s, send `forgetEmail`. The same goes for external ids.',
      done: 'The prospect as it is now.',
      requests: {
        named: { summary: 'Correct the name', value: { name: 'Ada King' } },
        both: {
          summary: 'Correct both',
          value: { email: 'ada.lovelace@example.com', name: 'Ada King' },
        },
        removed: { summary: 'Remove the email', value: { email: null } },
        attributes: {
          summary: 'Set one attribute, and remove another one',
          value: { attributes: { phone: '+44 20 7946 0018', city: null } },
        },
        moved: {
          summary: 'The person has a second email',
          value: { email: 'ada.lovelace@example.com', keepFormerEmail: true },
        },
        typo: {
          summary: 'The email had a typo',
          value: { email: 'ada.lovelace@example.com', forgetEmail: 'ada.lovelcae@example.com' },
        },
      },
      answers: {
        corrected: {
          summary: 'Corrected',
          value: {
            ...example.prospect,
            email: 'ada.lovelace@example.com',
            name: 'Ada King',
            updatedAt: example.PUBLISHED_AT,
          },
        },
      },
      fault: { detail: 'is not an email address', pointer: '/email' },
      limitReached: 'At most 100 emails can lead to one prospect.',
    },
  ),
  /** Merges a prospect into another one, for good. `startBackground` of `prospect-pages/publisher` moves its activities. */
  mergeProspect: post(
    '/v0/prospects/{prospect_id}/merge',
    {
      summary: 'Merge a prospect into another one',
      scope: 'prospects:write',
      needs: ['prospects', 'merges', 'moments'],
      useCase: mergeProspect,
      body: ProspectMerge,
      answer: MatchedProspect,
      problems: ['limit_reached'],
    },
    {
      description:
        'Merges the prospect of the path into another one, the survivor. This is final.\n\nFrom now on its id, email and external id lead to the survivor everywhere, and fill the empty fields of the survivor. Its activities move to the timeline of the survivor in the background, where each is always shown exactly once; the event `prospect.merged` follows when all have moved.\n\n`conflicts` names the email and the external id that the survivor is not shown with, because it has its own: they lead to the survivor nevertheless.\n\nIf either prospect was merged before, its survivor is used. Repeating a merge changes nothing.',
      done: 'The survivor.',
      requests: {
        into: { summary: 'Into the prospect that remains', value: { into: example.OTHER_PROSPECT_ID } },
      },
      answers: {
        survivor: {
          summary: 'The survivor',
          value: {
            ...example.prospect,
            prospectId: example.OTHER_PROSPECT_ID,
            conflicts: [{ field: 'email', reason: 'different' }],
          },
        },
      },
      fault: { detail: 'must be another prospect', pointer: '/into' },
      limitReached: 'At most 100 prospects can be merged into one.',
    },
  ),
  /** Everything about one person, line by line, a slice at a time: the answer to a request for access. */
  exportProspect: get(
    '/v0/prospects/{prospect_id}/export',
    {
      summary: 'Download everything about a prospect',
      scope: ['prospects:read', 'prospect_logs:read'],
      needs: ['prospects', 'prospectLogs', 'erasures'],
      useCase: exportProspect,
      answer: ProspectExportLine,
      lines: true,
    },
    {
      description: `Returns everything about a prospect as JSON lines, for a request for access: the prospect, each activity with its payload, newest
first, and finally the number of activities. A response without that line is incomplete: it ends early if the prospect is
erased meanwhile, the key is revoked, or something fails. The payload is as it was sent; only line breaks between its parts
are spaces. For an erased prospect, only the erasure is returned.`,
      done: 'The lines, streamed.',
      answers: {
        whole: {
          summary: 'A prospect with one activity',
          value: [{ prospect: example.readProspect }, { prospectLog: example.log }, { done: true, logs: 1 }]
            .map(example.lineOf)
            .join(''),
        },
        erased: {
          summary: 'An erased prospect',
          value: [{ erasure: example.erased }, { done: true, logs: 0 }].map(example.lineOf).join(''),
        },
      },
      fault: { detail: 'this operation has no query parameters', parameter: 'limit' },
    },
  ),
}
