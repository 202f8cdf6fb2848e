import { createVersion } from '../../core/pages/create-version.ts'
import { getVersion } from '../../core/pages/get-version.ts'
import { listVersions } from '../../core/pages/list-versions.ts'
import { publishVersion } from '../../core/pages/publish-version.ts'
import { unscheduleVersion } from '../../core/pages/unschedule-version.ts'
import { idempotent, ifRevision } from '../../shapes/input.ts'
import {
  CreatedVersion,
  NewVersion,
  Publication,
  PublicationResult,
  VersionSlice,
  VersionWithContent,
} from '../../shapes/page.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import * as example from './examples.ts'
import { get, ONE_BODY, post } from './operation.ts'

export const versionOperations = {
  /** Lists the versions of a page, newest first, without their content. */
  listVersions: get(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/versions',
    {
      summary: 'List the versions of a page, newest first',
      scope: 'pages:read',
      needs: ['pages', 'versions'],
      useCase: listVersions,
      query: SliceQuery,
      answer: VersionSlice,
      answerBytesMax: ONE_BODY,
    },
    {
      description: 'Returns the versions of a page without their content, one slice at a time.',
      done: 'A slice of versions.',
      answers: {
        whole: { summary: 'The only slice', value: { items: [example.listedVersion], hasMore: false } },
      },
    },
  ),
  /** Creates a version, which waits for a publisher. Fields left out are as in the newest version. */
  createVersion: post(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/versions',
    {
      summary: 'Create a version of a page',
      scope: 'pages:write',
      needs: ['pages', 'pages.change', 'versions', 'versions.findByKey', 'versions.tally', 'schedules'],
      useCase: createVersion,
      body: NewVersion,
      takes: { ...idempotent, ...ifRevision },
      answer: CreatedVersion,
      status: 201,
      problems: ['page_group_not_active', 'limit_reached', 'schedule_taken'],
      bodyOptional: true,
    },
    {
      description:
        'Creates a version, which becomes ready in the background and is then published, unless `publish` is false, a newer one is already published, or someone publishes or unpublishes by hand before that. Members left out are copied from the newest version. With `publishAt` it is published at that time. A version never changes. A page has at most 1,000: the next one drops the oldest that is not published, scheduled or processing, and numbers keep rising. At most 100 are scheduled.',
      done: 'The version was stored. A retry with the same idempotency key returns the same answer.',
      requests: {
        content: { summary: 'With other content', value: { content: example.CONTENT } },
        draft: {
          summary: 'With another context, not to be published yet',
          value: { supplementaryContext: 'A page about the summer sale', publish: false },
        },
        without: { summary: 'Without content', value: { content: null } },
      },
      answers: {
        created: {
          summary: 'Created',
          value: {
            versionId: example.id('pageversion', 'ha0'),
            versionNumber: 2,
            ...example.page,
            createdAt: example.PUBLISHED_AT,
            status: 'processing',
          },
        },
      },
      fault: { detail: 'must be an object', pointer: '/content' },
      limitReached: 'A page has at most 100 scheduled versions.',
      firstCreated: { versionId: example.VERSION_ID },
    },
  ),
  /** Reads a version with its content. */
  getVersion: get(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}',
    {
      summary: 'Read a version with its content',
      scope: 'pages:read',
      needs: ['pages', 'versions'],
      useCase: getVersion,
      answer: VersionWithContent,
      answerBytesMax: ONE_BODY,
    },
    {
      description: 'Returns a version. Its content is byte for byte as it was sent.',
      done: 'The version.',
      answers: {
        with_content: {
          summary: 'With content',
          value: { ...example.listedVersion, content: example.CONTENT },
        },
        without: { summary: 'Without content', value: { ...example.listedVersion, content: null } },
      },
    },
  ),
  /** Publishes a version, even an older one, now or later. */
  publishVersion: post(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/publish',
    {
      summary: 'Publish a version, even an older one, now or later',
      scope: 'pages:write',
      needs: ['pages', 'pages.change', 'versions', 'schedules'],
      useCase: publishVersion,
      body: Publication,
      takes: ifRevision,
      answer: PublicationResult,
      problems: ['version_not_ready', 'page_group_not_active', 'limit_reached', 'schedule_taken'],
      bodyOptional: true,
    },
    {
      description:
        'Publishes a version that is `ready` or was published before. Publishing an older one than the one now published is the rollback. Versions that were requested before this call are no longer published automatically. With `publishAt` the version is `scheduled`, and all this happens at that time; sent again, it changes the schedule. Other versions stay scheduled, and `scheduled` lists them all; two for the same minute are refused. With `unpublishAt` the page is unpublished then.',
      done: 'The page as it is now.',
      requests: {
        now: { summary: 'At once; the same as no body', value: {} },
        later: {
          summary: 'For some weeks',
          value: { publishAt: example.PUBLISH_AT, unpublishAt: example.UNPUBLISH_AT },
        },
      },
      answers: {
        published: { summary: 'Published', value: example.published },
        scheduled: {
          summary: 'Scheduled',
          value: {
            ...example.published,
            publishedVersion: null,
            latestVersion: { ...example.version, ...example.scheduled },
            scheduled: [{ versionId: example.VERSION_ID, publishAt: example.PUBLISH_AT }],
          },
        },
      },
      fault: { detail: 'must be at most two years ahead', pointer: '/publishAt' },
      limitReached: 'A page has at most 100 scheduled versions.',
    },
  ),
  /** Ends the schedule of a version. */
  unscheduleVersion: post(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/unschedule',
    {
      summary: 'End the schedule of a version',
      scope: 'pages:write',
      needs: ['pages', 'pages.change', 'versions', 'schedules'],
      useCase: unscheduleVersion,
      answer: VersionWithContent,
      problems: ['version_not_ready'],
    },
    {
      description:
        'Ends the schedule of a version: it is `ready` again, or `published` if it was published before. A version without a schedule is unchanged.',
      done: 'The version as it is now.',
      answers: {
        unscheduled: {
          summary: 'Unscheduled',
          value: { ...example.listedVersion, status: 'ready', publishedAt: null, content: null },
        },
      },
    },
  ),
}
