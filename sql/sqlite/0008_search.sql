-- How names and their last words begin, in lower case, without accents: see the same on PostgreSQL. SQLite has no function for
-- that, so they are columns, and `name_key` is a function of this program that only this migration calls.
alter table prospects add column name_key text;
alter table prospects add column last_name_key text;
update prospects set name_key = name_key(name), last_name_key = last_name_key(name) where name is not null;
create index prospects_email_start on prospects (tenant_id, email) where email is not null;
create index prospects_name_start on prospects (tenant_id, name_key) where name_key is not null;
create index prospects_last_name_start on prospects (tenant_id, last_name_key) where last_name_key is not null;
