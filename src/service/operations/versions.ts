import { idempotent, ifRevision } from '../../shapes/input.ts'
import {
  CreatedVersion,
  NewVersion,
  PageWithVersion,
  Publication,
  VersionSlice,
  VersionWithContent,
} from '../../shapes/page.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { get, post } from './operation.ts'

export const versionOperations = {
  /** Lists the versions of a page, newest first, without their content. */
  listVersions: get('/v0/page_groups/{page_group_id}/pages/{page_id}/versions', {
    summary: 'List the versions of a page, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: VersionSlice,
  }),
  /** Creates a version, which waits for a publisher. Fields left out are as in the newest version. */
  createVersion: post('/v0/page_groups/{page_group_id}/pages/{page_id}/versions', {
    summary: 'Create a version of a page',
    scope: 'pages:write',
    body: NewVersion,
    takes: idempotent,
    answer: CreatedVersion,
    status: 201,
    problems: ['page_group_not_active', 'limit_reached'],
    bodyOptional: true,
  }),
  /** Reads a version with its content. */
  getVersion: get('/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}', {
    summary: 'Read a version with its content',
    scope: 'pages:read',
    answer: VersionWithContent,
  }),
  /** Publishes a version, even an older one, now or later. */
  publishVersion: post('/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/publish', {
    summary: 'Publish a version, even an older one, now or later',
    scope: 'pages:write',
    body: Publication,
    takes: ifRevision,
    answer: PageWithVersion,
    problems: ['version_not_ready', 'page_group_not_active', 'limit_reached'],
    bodyOptional: true,
  }),
  /** Ends the schedule of a version. */
  unscheduleVersion: post(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/unschedule',
    {
      summary: 'End the schedule of a version',
      scope: 'pages:write',
      answer: VersionWithContent,
      problems: ['version_not_ready'],
    },
  ),
}
